"""What a program under test finds in its environment: nothing of ours but the address of its world."""

from __future__ import annotations

import base64
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.suites import benchmark, case, suite
from tests.shared.cli.terminal import Ended, Terminal

OURS = {
    "MINIONS_EVALS_HTTP_TOKEN": "h" * 40,
    "MINIONS_EVALS_SEAL_KEY": base64.urlsafe_b64encode(b"s" * 32).decode(),
    "MINIONS_EVALS_CONCURRENCY": "3",
    "MINIONS_EVALS_CALL_TIMEOUT": "50",
}
PYTHON = "import json, os; open('seen', 'w').write(json.dumps(dict(os.environ))); print('fine')\n"
NODE = "const seen = () => require('fs').writeFileSync({file}, JSON.stringify(process.env));\n"


def command_target(at: Terminal, seen: Path) -> Ended:
    at.file("s.json", suite(case("a"), benchmark("b", "a")))
    at.run("import", "s.json")
    at.file("app.py", PYTHON)
    return at.run("run-benchmark", "b", "--target", f"command:{sys.executable} app.py", "--json")


def config(at: Terminal, **keys: object) -> Ended:
    whole = {"prompts": ["hello"], "providers": ["echo"], "tests": [{"vars": {"a": "b"}}], **keys}
    at.file("promptfooconfig.yaml", json.dumps(whole))
    return at.run("eval", "-c", "promptfooconfig.yaml", "--trust-code")


def exec_provider(at: Terminal, seen: Path) -> Ended:
    at.file("app.py", PYTHON)
    return config(at, providers=[f"exec: {sys.executable} app.py"])


def exec_prompt(at: Terminal, seen: Path) -> Ended:
    at.file("app.py", PYTHON)
    return config(at, prompts=["file://app.py"])


def module_provider(at: Terminal, seen: Path) -> Ended:
    code = NODE.format(file=json.dumps(str(seen)))
    at.file(
        "p.cjs",
        code + "module.exports = class { id() { return 'p'; } callApi() { seen(); return {output: 'fine'}; } };",
    )
    return config(at, providers=["file://p.cjs"])


def javascript_hook(at: Terminal, seen: Path) -> Ended:
    code = NODE.format(file=json.dumps(str(seen)))
    at.file("hook.cjs", code + "module.exports = (name, context) => { seen(); return context; };")
    return config(at, extensions=["file://hook.cjs:extensionHook"])


def lifted_agent(at: Terminal, seen: Path) -> Ended:
    at.file("app.py", PYTHON.replace("'seen'", repr(str(seen))))
    at.file("AGENTS.md", "help")
    at.file("evals.json", {"evals": [{"prompt": "p", "assertions": [{"type": "contains", "value": "fine"}]}]})
    return at.run(
        "lift", "AGENTS.md", "--cases", "evals.json", "--target", f"command:{sys.executable} app.py", "--json"
    )


WAYS: tuple[Callable[[Terminal, Path], Ended], ...] = (
    command_target, exec_provider, exec_prompt, module_provider, javascript_hook, lifted_agent,
)  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_no_variable_of_ours_reaches_a_program_under_test(at: Terminal, way: Callable[[Terminal, Path], Ended]) -> None:
    if way in {module_provider, javascript_hook} and shutil.which("node") is None:
        pytest.skip("node is not installed")
    seen = at.folder / "seen"
    person = at.person("ann")
    ended = way(person.with_env(**OURS, THEIRS="reaches it"), seen)
    assert seen.exists(), (ended.out, ended.err)
    found: dict[str, str] = json.loads(seen.read_text("utf-8"))
    assert found["THEIRS"] == "reaches it"
    assert [name for name in found if name.startswith("MINIONS_EVALS_")] == []
