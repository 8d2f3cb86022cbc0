"""A stranger's file runs nothing, calls nobody and reads nothing private before you agree to what it names."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio.to_thread
import pytest
from pydantic import JsonValue

from tests.cli.suites import benchmark, case, suite
from tests.shared.cli.standby import Asked
from tests.shared.cli.terminal import Json, Terminal, shown_on_terminal
from tests.shared.targets.application import Asked as Received
from tests.shared.targets.application import application, reply

MARK = "mark"
PYTHON = f"open({MARK!r}, 'w').close()\ndef call_api(*a):\n    return {{'output': 'x'}}\n\n\nget_transform = create = call_api\n"
NODE = f"require('fs').writeFileSync({MARK!r}, ''); module.exports = () => 'x';\n"
ECHO: Json = {"prompts": ["hi"], "providers": ["echo"], "tests": [{"vars": {"a": "b"}}]}
CODE: dict[str, Json] = {
    "exec provider": {"providers": ["exec: touch mark"]},
    "exec provider, set up": {"providers": [{"id": "exec: touch mark", "config": {}}]},
    "exec prompt": {"prompts": ["exec: touch mark"]},
    "python provider": {"providers": ["python:app.py"]},
    "python provider by file": {"providers": ["file://app.py"]},
    "python function": {"providers": ["file://app.py:call_api"]},
    "python prompt": {"prompts": ["file://app.py"]},
    "python prompt without a scheme": {"prompts": ["app.py:create"]},
    "script prompt": {"prompts": ["file://app.sh"]},
    "python tests": {"tests": "file://app.py:create"},
    "module provider": {"providers": ["file://app.cjs"]},
    "module filter": {"nunjucksFilters": {"f": "app.cjs"}, "prompts": ["{{ a | f }}"]},
    "hook": {"extensions": ["file://app.py:beforeAll"]},
    "python variable": {"tests": [{"vars": {"a": "file://app.py"}}]},
    "python check": {"tests": [{"assert": [{"type": "python", "value": "file://app.py"}]}]},
    "in another file": {"providers": "file://inner.yaml"},
    "tests in another file": {"tests": "inner-tests.yaml"},
    "tests by pattern": {"tests": "inner-*.yaml"},
    "tests in a table": {"tests": "file://rows.csv"},
    "by a reference": {"x-p": ["exec: touch mark"], "providers": {"$ref": "#/x-p"}},
    "by its own variable": {"env": {"P": "app.py"}, "providers": ["file://{{env.P}}"]},
    "grader": {"tests": [{"assert": [{"type": "llm-rubric", "value": "x", "provider": "file://app.py"}]}]},
}
REACHES: dict[str, tuple[Json, str]] = {
    "address": ({"providers": ["{url}/x"]}, "{url}"),
    "address set up": ({"providers": [{"id": "http", "config": {"url": "{url}", "body": {"q": "{{prompt}}"}}}]}, "{url}"),
    "raw request": (
        {"providers": [{"id": "http", "config": {"request": "GET / HTTP/1.1\nHost: {host}\n\n"}}]}, "{host}"),
    "key to its own address": (
        {"providers": [{"id": "openai:gpt-4o", "config": {"apiBaseUrl": "{url}"}}]}, "{url}"),
    "any variable as the key": (
        {"providers": [{"id": "openai:gpt-4o", "config": {"apiKeyEnvar": "AWS_SECRET", "apiBaseUrl": "{url}"}}]}, "AWS_SECRET"),
    "variable in a header": (
        {"providers": [{"id": "{url}", "config": {"headers": {"x": "{{env.AWS_SECRET}}"}}}]}, "AWS_SECRET"),
    "variable in a prompt": ({"prompts": ["{{ env.AWS_PROFILE }}"]}, "AWS_PROFILE"),
    "all variables": ({"prompts": ["{{ env | dump }}"]}, "whole environment"),
    "private file": ({"tests": [{"vars": {"a": "file://{private}"}}]}, "{private}"),
    "private file by ..": ({"tests": [{"vars": {"a": "file://../private.txt"}}]}, "private.txt"),
    "private file by a link": ({"tests": [{"vars": {"a": "file://link.txt"}}]}, "private.txt"),
    "private file by a pattern": ({"prompts": ["file://../priv*.txt"]}, "private.txt"),
    "private file, included": ({"prompts": ["{% include '../private.txt' %}"]}, "private.txt"),
    "private file by its own variable": (
        {"env": {"P": "../private.txt"}, "tests": [{"vars": {"a": "file://{{env.P}}"}}]}, "private.txt"),
    "writes over a file": ({"outputPath": "../private.json"}, "private.json"),
}  # fmt: skip


def project(at: Terminal) -> Terminal:
    """A stranger's folder, in it one file of each kind that runs; beside it a private file."""
    folder = at.folder / "strange"
    folder.mkdir()
    (at.folder / "private.txt").write_text("private", "utf-8")
    (folder / "link.txt").symlink_to("../private.txt")
    (folder / "app.py").write_text(PYTHON, "utf-8")
    (folder / "app.sh").write_text("#!/bin/sh\ntouch mark; echo hi\n", "utf-8")
    (folder / "app.sh").chmod(0o755)
    (folder / "app.cjs").write_text(NODE, "utf-8")
    (folder / "inner.yaml").write_text("[{id: 'exec: touch mark'}]", "utf-8")
    (folder / "inner-tests.yaml").write_text("[{vars: {a: 'file://app.py'}}]", "utf-8")
    (folder / "rows.csv").write_text("a,__expected\nb,python: file://app.py\n", "utf-8")
    return Terminal(
        folder, {**at.extra, "XDG_STATE_HOME": str(at.folder / "state"), "AWS_SECRET": "s" * 30, "AWS_PROFILE": "p"}
    )


async def answering(received: Received) -> bytes:
    del received
    return reply({"choices": [{"message": {"role": "assistant", "content": "x"}, "finish_reason": "stop", "index": 0}]})


def filled(value: JsonValue, **names: str) -> JsonValue:
    text = json.dumps(value)
    for name, held in names.items():
        text = text.replace("{" + name + "}", held)
    return json.loads(text)


@pytest.mark.parametrize("name", CODE)
@pytest.mark.parametrize("command", ["eval", "audit"])
def test_a_config_runs_no_code_before_you_agree(at: Terminal, name: str, command: str) -> None:
    strange = project(at)
    strange.file("c.yaml", {**ECHO, **CODE[name]})
    ended = strange.run(command, "c.yaml")
    assert ended.code == 2, ended.out
    assert "needs your consent" in ended.err
    assert "--yes" in ended.err
    assert "touch" in ended.err or "app." in ended.err
    assert not (strange.folder / MARK).exists()


@pytest.mark.parametrize("name", REACHES)
async def test_a_config_reaches_nothing_outside_of_its_folder_before_you_agree(at: Terminal, name: str) -> None:
    strange = project(at)
    config, named = REACHES[name]
    async with application(answering) as server:
        host = server.url.removeprefix("http://").rstrip("/")
        names = {"url": server.url, "host": host, "private": str(at.folder / "private.txt")}
        strange.file("c.yaml", filled({**ECHO, **config}, **names))
        ended = await anyio.to_thread.run_sync(strange.with_env(OPENAI_API_KEY="k" * 40).run, "eval", "c.yaml")
        assert ended.code == 2, ended.out
        assert str(filled(named, **names)).rstrip("/") in ended.err
        assert server.asked == []


def test_a_config_that_stays_in_its_folder_needs_no_consent(at: Terminal) -> None:
    at.file("prompts.txt", "see https://example.com and /etc/hosts: {{a}}")
    at.file("vars.yaml", "b")
    tests: list[JsonValue] = [
        {"vars": {"a": "https://example.com"}},
        {"vars": {"a": "main.py"}, "assert": [{"type": "contains", "value": "see"}]},
    ]
    at.file("c.yaml", {**ECHO, "prompts": ["file://prompts.txt"], "tests": tests, "outputPath": "out.json"})
    ended = at.run("eval", "c.yaml")
    assert ended.code == 0, ended.err


async def test_your_key_goes_to_no_other_host_even_with_consent(at: Terminal) -> None:
    async with application(answering) as server:
        provider: Json = {"id": "openai:gpt-4o", "config": {"apiBaseUrl": server.url}}
        at.file("c.yaml", {**ECHO, "providers": [provider]})
        keyed = at.with_env(OPENAI_API_KEY="sk-mine-and-nobody-elses")
        await anyio.to_thread.run_sync(keyed.run, "eval", "c.yaml", "--yes")
        assert server.asked
        assert not any("sk-mine" in str(request.headers) for request in server.asked)


def consenting(at: Terminal, text: str) -> Terminal:
    at.file("s.json", suite(case("a"), benchmark("b", "a")))
    at.file("minions-evals.toml", 'suites = ["s.json"]\ntarget-config = "t.yaml"\n')
    at.file("app.py", "print('green')")
    at.file("t.yaml", text)
    return at.with_env(XDG_STATE_HOME=str(at.folder / "state"))


def test_consent_to_a_target_config_ends_when_another_program_stands_in_it(at: Terminal) -> None:
    ours = consenting(at, f"command: {{run: [{sys.executable}, app.py]}}\n")
    refused = ours.run("run")
    assert refused.code == 2
    assert f"{sys.executable} app.py" in refused.err
    asked = Asked(["run"], str(at.folder), ours.environment)
    assert "Agree" in shown_on_terminal(asked, "y")
    assert ours.run("run").code == 0
    at.file("t.yaml", f"# another comment\ncommand: {{run: [{sys.executable}, app.py]}}\n")
    assert ours.run("run").code == 0
    at.file("t.yaml", "command: {run: [sh, -c, 'touch mark; echo green']}\n")
    changed = ours.run("run")
    assert changed.code == 2
    assert "touch mark" in changed.err
    assert not (at.folder / MARK).exists()
    assert ours.run("run", "--yes").code == 0


def test_a_lift_file_runs_its_program_with_your_consent_only(at: Terminal) -> None:
    (at.folder / "l").mkdir()
    at.file("AGENTS.md", "help")
    at.file("l/evals.json", {"evals": [{"prompt": "p", "assertions": [{"type": "contains", "value": "fine"}]}]})
    lift: Json = {
        "name": "x",
        "cases": "evals.json",
        "with": ["../AGENTS.md"],
        "target": "command:sh -c 'touch mark; echo fine'",
    }
    at.file("l/lift.yaml", lift)
    refused = at.run("lift", "l/lift.yaml")
    assert refused.code == 2
    assert "touch mark" in refused.err
    assert str(at.folder / "AGENTS.md") in refused.err
    agreed = at.run("lift", "l/lift.yaml", "--yes")
    assert agreed.code == 0, agreed.err
    assert Path(at.folder / "l/lift.yaml").exists()
