"""The step that a stopped run advises is taken as it was printed, and resumes the run: over MCP and at the command line."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from tests.shared.cli.terminal import Terminal
from tests.shared.fakes.llm_server import FakeSettings, serving
from tests.shared.server.hosts import hosted
from tests.workshop import config_in

MADE_BY_A_MODEL: list[JsonValue] = [
    {"id": "p@1", "type": "prompt-version", "fields": {"promptId": "p", "versionNumber": 1, "content": "Say {{q}}"}},
    *(
        {
            "id": f"c{number}", "type": "test-case",
            "fields": {"name": f"c{number}", "inputs": {"q": f"{number}"}, "assertions": [{"type": "contains", "value": "e"}]},
        }
        for number in range(3)
    ),
    {"id": "b", "type": "benchmark", "fields": {"name": "b", "testCaseIds": ["c0", "c1", "c2"]}},
]  # fmt: skip


async def test_the_resume_call_of_a_cancelled_run_names_its_target_and_resumes_it(tmp_path: Path) -> None:
    target = "anthropic:fake-writer"
    async with (
        serving(FakeSettings(latency_ms=60_000)) as slow,
        hosted(config_in(tmp_path, model_url=slow.url)) as host,
    ):
        await host.call("save_records", records=MADE_BY_A_MODEL)
        begun = await host.call("run_benchmark", benchmarkId="b", target=target, promptVersionRef="p@1", trials=2)
        assert begun["state"] == "running"
        stopped = await host.call("cancel_run", runId=begun["runId"])
    (resume,) = [line for line in cast("list[str]", stopped["next"]) if line.startswith("resume: ")]
    tool, _, arguments = resume.removeprefix("resume: ").partition(" ")
    asked = json.loads(arguments)
    assert asked.items() >= {"target": target, "promptVersionRef": "p@1", "trials": 2}.items()
    async with serving() as quick, hosted(config_in(tmp_path, model_url=quick.url)) as host:
        done = await host.call(tool, **asked, waitSeconds=50)
    assert (done["state"], done["runId"]) == ("completed", begun["runId"])


def test_the_command_that_a_time_cap_advises_resumes_the_run_with_its_target(tmp_path: Path) -> None:
    at, store = Terminal(tmp_path), tmp_path / "my evals.db"
    (tmp_path / "app.py").write_text(
        "import time\ndef slow(inputs):\n    time.sleep(0.4)\n    return 'yes ' + inputs['q']\n"
    )
    (tmp_path / "suite.json").write_text(json.dumps(MADE_BY_A_MODEL))
    assert at.run("import", "suite.json", "--db", str(store)).code == 0
    command = ("run-benchmark", "b", "--target", "python:app:slow", "--concurrency", "1", "--db", str(store))
    stopped = at.run(*command, "--max-seconds", "0.5")
    assert stopped.code == 3, stopped
    advised = re.search(r"`minions-evals ([^`]+)` resumes it", stopped.err)
    assert advised is not None, stopped.err
    words = shlex.split(advised[1])
    assert words[: len(command)] == [*command]
    done = at.run(*words)
    for _ in range(5):  # under the same cap it may stop again, each time further on
        done = at.run(*words) if done.code == 3 else done
    assert "3 of 3" in done.out, done
