"""Nobody who is asked can make a secret of ours stand in the store, a report, a log or on the terminal."""

from __future__ import annotations

import hashlib
import json
import sys

import pytest

from tests.acceptance.workplace import Told, Workplace
from tests.shared.fakes.llm_server import FakeSettings, Server

pytestmark = pytest.mark.anyio

KEY = "sk-live-0123456789-abcdefghijklmnopqrstuvwxyz-0123456789"
TOKEN = "tok-9876543210-zyxwvutsrqponmlkjihgfedcba"
WRITTEN = "hunter2-hunter2-hunter2"
MARK = f"[secret {hashlib.sha256(KEY.encode()).hexdigest()[:8]}]"
SUITE = """
minions:
  - id: leak/case
    type: test-case
    fields: {name: Leak, inputs: {q: hello}, assertions: [{type: contains, value: sk-live-01}]}
  - {id: leak, type: benchmark, fields: {name: Leak, testCaseIds: [leak/case]}}
"""


@pytest.fixture
def knowing(place: Workplace) -> Workplace:
    """The workplace whose commands know three secrets."""
    (place.folder / ".env").write_text(f"MAIL_PASSWORD='{WRITTEN}'\n")
    (place.folder / "suite.yaml").write_text(SUITE)
    return Workplace(place.folder, place.url, {"ANTHROPIC_API_KEY": KEY, "SHOP_TOKEN": TOKEN})


def assert_nowhere(place: Workplace, *said: Told) -> None:
    """No file but what a person wrote, and no line of any command, holds one of the secrets or most of one."""
    files = [file for file in place.folder.iterdir() if file.is_file() and file.suffix not in {".py", ".env"}]
    texts = {file.name: file.read_bytes() for file in files if file.name != ".env"}
    texts |= {f"command {number}": f"{one.out}{one.err}".encode() for number, one in enumerate(said, 1)}
    for name, text in texts.items():
        for secret in (KEY, TOKEN, WRITTEN):
            assert secret[4:20].encode() not in text, (
                name,
                text[max(0, text.find(secret[4:20].encode()) - 200) :][:400],
            )


async def test_a_provider_that_tells_the_key_in_its_error(knowing: Workplace, server: Server) -> None:
    server.configure(FakeSettings(pecho=1.0))
    await knowing.take_in(2)
    judged = await knowing.tell(*knowing.judging())
    shown = await knowing.tell("runs", "k", "--json")
    report = await knowing.tell("report", "k", "--html", "report.html")
    assert MARK in shown.out
    assert judged.code == 3
    assert_nowhere(knowing, judged, shown, report)


async def test_a_model_that_tells_the_key_is_scored_as_it_spoke_and_kept_with_a_mark(knowing: Workplace) -> None:
    await knowing.tell("import", "suite.yaml")
    run = await knowing.tell("run-benchmark", "leak", "--target", "anthropic:leaky", "--key", "k", "--json")
    assert run.code == 0, run
    said = [await knowing.tell(*words) for words in (("export",), ("history", "leak/case"), ("show", "k:1.1"))]
    assert knowing.rows("SELECT passed FROM test_run") == [(1,)], "scored by what it said, which begins with sk-live"
    assert f"My key is {MARK}." in said[0].out
    assert_nowhere(knowing, run, *said)
    ((detail,),) = knowing.rows("SELECT detail FROM event WHERE type = 'secrets-marked'")
    assert json.loads(detail) == {"replaced": {MARK[8:-1]: 1}}


async def test_a_judge_that_tells_the_key_in_its_rationale(knowing: Workplace) -> None:
    await knowing.take_in(2)
    judged = await knowing.tell(*knowing.judging(model="anthropic:leaky-judge"))
    shown = await knowing.tell("export", "--type", "eval-judgment")
    assert judged.code == 0, judged
    assert f"The key {MARK} names what was done" in shown.out
    assert_nowhere(knowing, judged, shown)


@pytest.mark.parametrize("ends", [0, 1])
async def test_a_program_that_tells_what_stands_in_its_environment(knowing: Workplace, ends: int) -> None:
    (knowing.folder / "app.py").write_text(
        "import os, sys\n"
        f"said = os.environ['SHOP_TOKEN'] + ' ' + {WRITTEN!r}\n"
        "print(said)\n"
        "print('x' * 1390, said, 'y' * 540, file=sys.stderr)\n"  # a cut would leave the end of a secret
        f"sys.exit({ends})\n"
    )
    await knowing.tell("import", "suite.yaml")
    run = await knowing.tell(
        "run-benchmark", "leak", "--target", f"command:{sys.executable} app.py", "--key", "k", "--json"
    )
    shown = await knowing.tell("export")
    assert "[secret " in shown.out + run.out
    assert_nowhere(knowing, run, shown)


async def test_a_recorded_output_and_a_neighbours_message(knowing: Workplace) -> None:
    run = {"agentId": "a", "inputs": {"q": "hello"}, "outputs": {"output": f"It is {KEY}"}, "errorMessage": TOKEN}
    runs = knowing.folder / "neighbour"
    runs.mkdir()
    (runs / "runs.jsonl").write_text(json.dumps({"id": "run/1", "type": "agent-run", "fields": run}) + "\n")
    first, second = [await knowing.tell("import", str(runs / "runs.jsonl")) for _ in range(2)]
    assert "1 new" in first.out
    assert "1 unchanged" in second.out, "the same file is the same record"
    shown = await knowing.tell("show", "run/1")
    assert f"It is {MARK}" in shown.out
    assert_nowhere(knowing, first, second, shown)
    assert len(knowing.rows("SELECT 1 FROM event WHERE type = 'secrets-marked'")) == 1


async def test_what_was_kept_before_it_was_known_is_found(knowing: Workplace) -> None:
    unknowing = Workplace(knowing.folder, knowing.url, {"ANTHROPIC_API_KEY": "", "SHOP_TOKEN": ""})
    (knowing.folder / "runs.jsonl").write_text(
        json.dumps(
            {"id": "run/1", "type": "agent-run", "fields": {"agentId": "a", "outputs": {"output": f"It is {KEY}"}}}
        )
    )
    assert (await unknowing.tell("import", "runs.jsonl")).code == 0
    assert (await unknowing.tell("db", "check")).code == 0
    found = await knowing.tell("db", "check")
    assert found.code == 3
    assert f"problem: one of your secrets, {MARK}, is in minion run/1" in found.out
    exported = await knowing.tell("export")
    assert f"It is {MARK}" in exported.out
    assert "1 record held one of your secrets" in exported.err
    assert KEY not in found.out + exported.out + exported.err + found.err


async def test_a_secret_that_a_config_gives_its_provider(knowing: Workplace) -> None:
    given = "given-in-the-config-0001"
    (knowing.folder / "provider.py").write_text(
        f"def call_api(prompt, options, context):\n    return {{'error': 'wrong key ' + {given!r}}}\n"
    )
    (knowing.folder / "config.yaml").write_text(
        f"env: {{PROVIDER_TOKEN: {given}}}\nprompts: ['hello']\nproviders: ['file://provider.py']\ntests: [{{}}]\n"
    )
    run = await knowing.tell("eval", "config.yaml", "--yes", "--json")
    shown = await knowing.tell("runs", "--json")
    assert "wrong key [secret " in run.out + run.err
    assert given not in run.out + run.err + shown.out
    assert given.encode() not in knowing.db.read_bytes()
