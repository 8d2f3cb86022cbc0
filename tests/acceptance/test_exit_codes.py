"""A crash, and a machine that has run out: exit 3 and one line that names a log file, never 1 and never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from minions_evals_mcp.crashes import run_out, tell
from minions_evals_mcp.errors import BadInputError
from tests.hang import HANG_S
from tests.shared.cli.terminal import ROOT, Terminal

CLI = ("-m", "minions_evals_mcp.cli")
SERVER = ("-c", "from minions_evals_mcp.server.entry import server; server()")
AGENT = ("-c", "from agent.entry import agent; agent()")


def ended(folder: Path, *words: str, limit: str = "true", path: str = "") -> subprocess.CompletedProcess[str]:
    """How the program ended under a shell's limit, with a folder of modules that come before all others."""
    env = {
        "PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": f"{path}:{ROOT}" if path else str(ROOT),
        "MINIONS_EVALS_DB": str(folder / "evals.db"), "XDG_STATE_HOME": str(folder / "state"), "TMPDIR": str(folder),
        "SHOP_TOKEN": "a-secret-that-the-process-knows",
    }  # fmt: skip
    shell = f'{limit}; exec "$@"'
    command = ["sh", "-c", shell, "sh", sys.executable, *words]
    return subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=HANG_S, check=False, stdin=subprocess.DEVNULL
    )


def assert_told_in_one_line(told: subprocess.CompletedProcess[str], folder: Path) -> None:
    assert told.returncode == 3, told
    assert "Traceback" not in told.stderr + told.stdout
    (line,) = told.stderr.splitlines()
    if "no log file" not in line:
        file = Path(line.rpartition(" has the details")[0].rpartition("; ")[2])
        assert file.is_relative_to(folder)
        assert "Traceback" in file.read_text()


@pytest.mark.parametrize(
    ("program", "broken"),
    [
        ((*CLI, "doctor"), "platformdirs"),
        ((*CLI, "list", "test-case"), "cyclopts"),
        (SERVER, "mcp"),
        ((*AGENT, "status"), "cyclopts"),
    ],
)
def test_whatever_breaks_inside_is_told_in_one_line(tmp_path: Path, program: tuple[str, ...], broken: str) -> None:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / f"{broken}.py").write_text("raise RuntimeError('it fell over')\n")
    told = ended(tmp_path, *program, path=str(tmp_path / "modules"))
    assert_told_in_one_line(told, tmp_path)
    assert "it crashed (RuntimeError: it fell over)" in told.stderr


@pytest.mark.parametrize("limit", ["ulimit -n 6", "ulimit -n 9", "ulimit -n 14", "ulimit -v 90000"])
def test_a_machine_that_has_run_out_is_told_in_one_line(tmp_path: Path, limit: str) -> None:
    told = ended(tmp_path, *CLI, "list", "test-case", limit=limit)
    assert "Traceback" not in told.stderr + told.stdout
    assert told.returncode in {0, 3}, told
    if told.stderr.startswith("minions-evals: "):
        assert_told_in_one_line(told, tmp_path)
    assert len(told.stderr.splitlines()) <= 2, "an error, and what to do"


def test_a_refusal_behind_which_the_machine_has_run_out_is_the_instruments(tmp_path: Path) -> None:
    def refusal() -> BadInputError:
        try:
            raise OSError(24, "Too many open files")  # noqa: TRY301  as a file is opened
        except OSError as error:
            refused = BadInputError(f"suite.yaml cannot be read: {error}.")
            refused.__context__ = error
            return refused

    assert run_out(refusal()) == "this process may open no more files (ulimit -n)"
    assert run_out(BadInputError("suite.yaml cannot be read.")) == ""
    assert Terminal(tmp_path).run("import", "nowhere.yaml").code == 2


def test_in_json_the_crash_is_an_error_like_any_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert tell("minions-evals", MemoryError(), as_json=True) == 3
    told = json.loads(capsys.readouterr().out)["error"]
    assert told["code"] == "internal-error"
    assert told["message"] == "minions-evals: out of memory"
    assert str(tmp_path) in told["remedy"]
