"""The composite GitHub Action: its steps run as a runner runs them, against a GitHub API of the test's own on loopback."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from tests.hang import HANG_S
from tests.shared.cli.terminal import inherited

ACTION = Path(__file__).parents[2] / ".github" / "actions" / "minions-evals"
CONFIG = 'prompts: ["Say {{word}}"]\nproviders: [echo]\ntests:\n  - {vars: {word: %s}, assert: [{type: contains, value: cat}]}\n'
TOKEN = "a-token-of-the-runner"


class GitHub:
    """The comments of a pull request, and what was asked of them."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.refuses = False
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self, status: int, content: Any) -> None:
                data = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _carry_out(self) -> None:
                fake.asked.append(f"{self.command} {self.path}")
                length = int(self.headers.get("Content-Length") or 0)
                content = json.loads(self.rfile.read(length) or b"{}")
                if fake.refuses or self.headers["Authorization"] != f"Bearer {TOKEN}":
                    self._answer(403, {"message": "Resource not accessible by integration"})
                elif self.command == "GET":
                    page = int(self.path.rpartition("page=")[2])
                    self._answer(200, fake.comments[(page - 1) * 100 : page * 100])
                elif self.command == "POST":
                    fake.comments.append({"id": len(fake.comments) + 1, "body": content["body"]})
                    self._answer(201, fake.comments[-1])
                else:
                    ident = int(self.path.rpartition("/")[2])
                    fake.comments[ident - 1]["body"] = content["body"]
                    self._answer(200, fake.comments[ident - 1])

            do_GET = do_POST = do_PATCH = _carry_out  # noqa: N815  the names that the server calls

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name that the server calls it by
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def github() -> Generator[GitHub]:
    fake = GitHub()
    Thread(target=fake.server.serve_forever, daemon=True).start()
    yield fake
    fake.server.shutdown()
    fake.server.server_close()


class Runner:
    """A runner in a folder: the steps of the action with the environment that GitHub gives them."""

    def __init__(self, folder: Path, github: GitHub) -> None:
        self.folder = folder
        (folder / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))
        self.environment = {
            **inherited(), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(folder), "RUNNER_TEMP": str(folder),
            "GITHUB_OUTPUT": str(folder / "output"), "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "GITHUB_EVENT_PATH": str(folder / "event.json"), "GITHUB_REPOSITORY": "o/r", "GITHUB_API_URL": github.url,
            "GITHUB_TOKEN": TOKEN, "EVALS_CONFIG": "c.yaml", "EVALS_NAME": "nightly", "MINIONS_EVALS_DB": str(folder / "evals.db"),
        }  # fmt: skip

    def evaluate(self, word: str, **inputs: str) -> dict[str, str]:
        """The outputs of the step that evaluates."""
        (self.folder / "c.yaml").write_text(CONFIG % word)
        (self.folder / "output").unlink(missing_ok=True)
        self._run(["bash", str(ACTION / "evaluate.sh")], inputs)
        return dict(line.split("=", 1) for line in (self.folder / "output").read_text().splitlines())

    def comment(self, outputs: dict[str, str], **inputs: str) -> str:
        """What the step that comments printed."""
        told = {"EVALS_EXIT_CODE": outputs["exit-code"], "EVALS_FOLDER": outputs["folder"], **inputs}
        return self._run([sys.executable, str(ACTION / "comment.py")], told)

    def _run(self, command: list[str], inputs: dict[str, str]) -> str:
        ended = subprocess.run(
            command, cwd=self.folder, env={**self.environment, **inputs}, capture_output=True, text=True, timeout=HANG_S, check=False
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        return ended.stdout


@pytest.fixture
def runner(tmp_path: Path, github: GitHub) -> Runner:
    return Runner(tmp_path, github)


def test_a_pull_request_has_one_comment_that_each_run_brings_up_to_date(runner: Runner, github: GitHub) -> None:
    github.comments += [{"id": n, "body": f"> <!-- minions-evals: nightly --> quoted {n}"} for n in range(1, 102)]
    first = runner.evaluate("cat")
    assert first["exit-code"] == "0"
    assert Path(first["report"]).read_text("utf-8").startswith("<!doctype html>")
    assert (Path(first["folder"]) / "junit.xml").exists()
    runner.comment(first)
    assert len(github.comments) == 102
    assert github.comments[-1]["body"].startswith(
        "<!-- minions-evals: nightly -->\n### Minions Evals, nightly: ✅ passed"
    )
    assert "1 of 1" in github.comments[-1]["body"]
    second = runner.evaluate("dog", EVALS_ARGUMENTS="--fail --concurrency 2")
    assert second["exit-code"] == "1"
    runner.comment(second)
    assert len(github.comments) == 102, "updated in place"
    assert "❌ failed" in github.comments[-1]["body"]
    assert "gate failed: 1 of 1 tests failed" in github.comments[-1]["body"]
    assert github.asked[-1] == "PATCH /repos/o/r/issues/comments/102"
    summary = (runner.folder / "summary.md").read_text("utf-8")
    assert "✅ passed" in summary
    assert "❌ failed" in summary


def test_without_a_pull_request_or_a_right_to_comment_the_summary_stays(runner: Runner, github: GitHub) -> None:
    outputs = runner.evaluate("cat")
    assert runner.comment(outputs, EVALS_COMMENT="false") == ""
    github.refuses = True
    assert "::warning::The comment was not written: HTTP Error 403" in runner.comment(outputs)
    (runner.folder / "event.json").write_text("{}")
    github.asked.clear()
    assert runner.comment(outputs) == ""
    assert github.asked == []
    assert (runner.folder / "summary.md").read_text("utf-8").count("✅ passed") == 3


def test_the_first_pull_request_is_evaluated_though_its_base_was_never(runner: Runner, github: GitHub) -> None:
    first = runner.evaluate("cat", EVALS_BASE_BRANCH="main", EVALS_FAIL_ON_REGRESSION="true")
    assert first["exit-code"] == "0"
    runner.comment(first)
    assert "✅ passed" in github.comments[-1]["body"]
    assert "main has no evaluation yet" in github.comments[-1]["body"]
    named = runner.evaluate("cat", EVALS_BASELINE="mian", EVALS_FAIL_ON_REGRESSION="true")
    assert named["exit-code"] == "2", "a baseline that somebody named is not left out"


def test_a_config_that_cannot_be_read_is_told_and_ends_the_job_with_its_code(runner: Runner, github: GitHub) -> None:
    outputs = runner.evaluate("cat", EVALS_CONFIG="none.yaml")
    assert outputs["exit-code"] == "2"
    assert "report" not in outputs
    runner.comment(outputs)
    assert "could not start" in github.comments[0]["body"]
    assert "none.yaml" in github.comments[0]["body"]


def test_the_action_hands_inputs_to_its_steps_by_the_environment_and_ends_with_the_exit_code() -> None:
    action = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))
    assert action["runs"]["using"] == "composite"
    steps = action["runs"]["steps"]
    for step in steps:
        inside = set(re.findall(r"\$\{\{\s*([^}]*?)\s*\}\}", step.get("run", "")))
        assert inside <= {"github.action_path"}, "an input inside a script could be a script"
        assert "run" not in step or step["shell"] == "bash"
    assert steps[-1]["run"] == 'exit "$EXIT_CODE"'
    named = set(re.findall(r"inputs\.([a-z-]+)", (ACTION / "action.yml").read_text("utf-8")))
    assert named == set(action["inputs"])
