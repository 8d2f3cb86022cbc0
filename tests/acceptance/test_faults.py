"""The fault test: whatever the judge's API does, no case is lost and no score is invented."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import anyio
import pytest

from tests.acceptance.workplace import TOP, Told, Workplace, case_id, expected_score, until
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import FakeSettings, Server

CASES = 300
OF_A_KIND = 50
"""So many where one kind of fault is looked at alone. Of their 100 calls none meets a fault of 0.1 once in 38,000 runs."""
KINDS = {
    "p429": "rate-limited",
    "p529": "overloaded",
    "p500": "transient",
    "preset": "transient",
    "pmalformed": "malformed",
    "pnocontent": "malformed",
    "pnostop": "malformed",
    "phang": "deadline",
}
"""The fake's faults by the name under which a run counts them."""
TOGETHER = FakeSettings(
    p429=0.1, p500=0.05, p529=0.02, pmalformed=0.02, preset=0.01, phang=0.01, retry_after_s=0.3, latency_ms=2
)
PATIENCE_S = "4"

NOBODY = "http://127.0.0.1:9"
"""Where nobody listens, and nobody is given a place by chance."""


def impatient(place: Workplace, seconds: str = PATIENCE_S) -> Workplace:
    """The same folder with a short limit for each call."""
    return replace(place, more={**place.more, "MINIONS_EVALS_CALL_TIMEOUT": seconds})


def assert_every_fault_is_counted(told: Told, server: Server, cases: int) -> None:
    """The run counts every call, and of each kind as many faults as the server made; a machine that is held up adds deadlines."""
    spent = told.numbers("spent")
    met = Counter[str]()
    for fault, count in server.faults.items():
        met[f"fault:{KINDS[fault]}"] += count
    held_up = spent.get("fault:deadline", 0) - met["fault:deadline"] if server.settings.phang else 0
    assert held_up >= 0
    met["fault:deadline"] += int(held_up)
    assert {name: count for name, count in spent.items() if name.startswith("fault:")} == +met
    assert spent["attempts"] == server.requests == cases * len(TOP) + met.total()


def assert_no_score_is_invented(place: Workplace) -> None:
    """Every score that is kept is what the judge's answer for that case must be."""
    for (case, criterion), score in place.scores().items():
        assert score == expected_score(int(case[-4:]), criterion), (case, criterion)


@pytest.mark.parametrize(
    ("settings", "at_least"),
    [
        pytest.param(FakeSettings(p500=0.1), 1, id="500s"),
        pytest.param(FakeSettings(pmalformed=0.1), 1, id="replies that are cut off"),
        pytest.param(FakeSettings(p429=0.1, retry_after_s=0.3), 1, id="429s with retry-after"),
        pytest.param(FakeSettings(p529=0.1), 1, id="529s"),
        pytest.param(FakeSettings(preset=0.03), 0, id="resets"),
        pytest.param(FakeSettings(phang=0.02), 0, id="hangs"),
    ],
)
async def test_under_each_kind_of_fault_all_cases_are_scored_and_every_fault_is_counted(
    place: Workplace, server: Server, settings: FakeSettings, at_least: int
) -> None:
    server.settings = replace(settings, latency_ms=2)
    await place.take_in(OF_A_KIND)

    told = await (impatient(place) if settings.phang else place).tell(*place.judging())

    assert told.code == 0, told
    assert told.json()["outcomes"] == {"scored": OF_A_KIND}
    assert server.faults.total() >= at_least
    assert_every_fault_is_counted(told, server, OF_A_KIND)
    place.assert_scored_once(OF_A_KIND)


async def test_under_all_faults_together_all_300_cases_are_scored_and_every_fault_is_counted(
    place: Workplace, server: Server
) -> None:
    server.settings = TOGETHER
    await place.take_in(CASES)

    told = await impatient(place).tell(*place.judging())

    assert told.code == 0, told
    assert told.json()["outcomes"] == {"scored": CASES}
    assert server.faults.total() >= 60
    assert_every_fault_is_counted(told, server, CASES)
    place.assert_scored_once(CASES)
    print(f"{server.requests} calls, {dict(server.faults)}")  # noqa: T201 - the figures, shown with -s


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(FakeSettings(pbadscore=0.2), id="scores out of range or no number"),
        pytest.param(FakeSettings(pnocontent=0.2), id="null content"),
        pytest.param(FakeSettings(pnostop=0.2), id="no stop_reason"),
        pytest.param(FakeSettings(prefusal=0.2), id="refusals"),
        pytest.param(FakeSettings(pmaxtokens=0.2), id="max_tokens"),
    ],
)
async def test_a_reply_that_is_no_verdict_ends_as_a_retry_or_a_judge_error_and_never_as_a_score(
    place: Workplace, server: Server, settings: FakeSettings
) -> None:
    server.settings = settings
    await place.take_in(60)

    told = await place.tell(*place.judging())

    outcomes = told.numbers("outcomes")
    errors = outcomes.get("judge-error", 0)
    assert server.faults.total() > 0
    assert outcomes["scored"] + errors == 60
    assert told.code == (3 if errors else 0)
    named = told.list("unscored")
    assert len(named) == min(errors, 20)
    assert all(str(one["reason"]).startswith("anthropic:") for one in named)
    assert len(place.scores()) == outcomes["scored"] * len(TOP)
    assert_no_score_is_invented(place)
    assert told.numbers("spent")["attempts"] == server.requests


async def test_outputs_that_the_judge_keeps_declining_are_counted_and_named_and_the_run_still_concludes(
    place: Workplace, server: Server
) -> None:
    server.settings = FakeSettings(latency_ms=10)
    await place.take_in(60)

    with place.started(*place.judging("--concurrency", "2")) as process:
        await until(lambda: server.judge >= 12)
        server.settings = FakeSettings(prefusal=1)
        with anyio.fail_after(HANG_S):
            told = await place.ended(process)

    assert told.code == 3, told
    assert told.json()["state"] == "completed"
    outcomes = told.numbers("outcomes")
    assert outcomes["judge-error"] >= 40
    assert outcomes["scored"] + outcomes["judge-error"] == 60
    assert told.numbers("benchmarkRun")["errorCount"] == outcomes["judge-error"]
    bounds = told.numbers("bounds")
    assert bounds["best"] - bounds["worst"] == pytest.approx(100 * outcomes["judge-error"] / 60)
    assert all("refused" in str(one["reason"]) for one in told.list("unscored"))
    assert_no_score_is_invented(place)


@pytest.mark.parametrize(
    ("fault", "settings", "word"),
    [
        ("only 429s", FakeSettings(p429=1, retry_after_s=0.2), "HTTP 429"),
        ("only 500s", FakeSettings(p500=1), "HTTP 500"),
        ("only hangs", FakeSettings(phang=1), "no complete reply within"),
        ("a wrong key", FakeSettings(), "invalid x-api-key"),
        ("no server", FakeSettings(), "no connection"),
    ],
)
async def test_where_every_call_fails_the_run_stops_says_what_to_do_and_completes_once_the_fault_is_gone(
    place: Workplace, server: Server, fault: str, settings: FakeSettings, word: str
) -> None:
    server.settings = settings
    failing = impatient(place, "0.5") if settings.phang else place
    if fault == "a wrong key":
        failing = replace(place, more={"ANTHROPIC_API_KEY": "wrong-key"})
    if fault == "no server":
        failing = replace(place, url=NOBODY)
    await place.take_in(14)

    told = await failing.tell(*place.judging("--concurrency", "28"))

    assert told.code == 3, told
    assert place.scores() == {}
    said = told.error()
    assert said.startswith("instrument-failed: ")
    assert word in said
    assert "minions-evals doctor" in said
    assert "--key k" in said
    (kept_run,) = (await place.tell("runs", "--json")).list("runs")
    assert kept_run["state"] == "stopped"
    server.configure(FakeSettings())
    resumed = await place.tell(*place.judging())
    assert resumed.code == 0, resumed
    assert server.requests == 28
    place.assert_scored_once(14)


async def test_an_outage_in_the_middle_stops_the_run_and_it_completes_once_the_outage_is_over(
    place: Workplace, server: Server
) -> None:
    server.settings = FakeSettings(latency_ms=20)
    await place.take_in(60)

    with place.started(*place.judging()) as process:
        await until(lambda: server.judge >= 40)
        server.settings = FakeSettings(p500=1)
        with anyio.fail_after(HANG_S):
            told = await place.ended(process)

    assert told.code == 3, told
    assert "12 units in a row" in told.error()
    assert place.rows("SELECT count(*) FROM benchmark_run") == [(0,)]
    verdicts = len(place.rows("SELECT 1 FROM verdict"))
    server.configure(FakeSettings())
    resumed = await place.tell(*place.judging())
    assert resumed.code == 0, resumed
    assert server.requests == 60 * len(TOP) - verdicts
    place.assert_scored_once(60)


async def test_a_cost_cap_stops_before_the_spend_and_the_run_is_resumed_without_paying_twice(
    place: Workplace, server: Server
) -> None:
    await place.take_in(40)

    capped = await place.tell(*place.judging("--max-cost-usd", "0.02"))
    (job,) = (await place.tell("runs", "--json")).list("runs")
    spent = (await place.tell("runs", "k", "--json")).numbers("spent")
    paid = server.requests
    resumed = await place.tell(*place.judging("--max-cost-usd", "1"))

    assert capped.code == 3, capped
    assert "cost cap of $0.02" in capped.error()
    assert "--key k" in capped.error()
    assert job["state"] == "stopped"
    assert 0.01 < spent["costUsd"] <= 0.02  # the cap is used, not only held
    assert spent["calls"] == paid < 80
    assert resumed.code == 0, resumed
    assert server.requests == 80
    place.assert_scored_once(40)


async def test_a_cost_cap_with_a_model_of_unknown_price_is_refused_before_anything_runs(
    place: Workplace, server: Server
) -> None:
    await place.take_in(2)

    told = await place.tell(*place.judging("--max-cost-usd", "1", model="anthropic:home-made-judge"))

    assert told.code == 2
    assert "price of anthropic:home-made-judge is unknown" in told.error()
    assert server.requests == 0
    assert (await place.tell("runs", "--json")).list("runs") == []


async def test_a_time_cap_starts_no_further_call_and_the_run_is_resumed_without_paying_twice(
    place: Workplace, server: Server
) -> None:
    server.settings = FakeSettings(latency_ms=200)
    await place.take_in(40)

    capped = await place.tell(*place.judging("--max-seconds", "2.5", "--concurrency", "2"))
    paid = server.requests
    server.settings = FakeSettings()
    resumed = await place.tell(*place.judging())

    assert capped.code == 3, capped
    assert "time cap of 2.5 s" in capped.error()
    assert paid < 80
    assert resumed.code == 0, resumed
    assert server.requests == 80
    place.assert_scored_once(40)


async def test_verdicts_on_the_same_outputs_are_reused_over_all_trials_and_fresh_pays_again(
    place: Workplace, server: Server
) -> None:
    await place.take_in(10, replies=2)
    calls: dict[str, int] = {}

    async def judged(key: str, *options: str) -> Told:
        before = server.requests
        told = await place.tell(*place.judging("--trials", "2", *options, key=key))
        calls[f"{key}{' again' if key in calls else ''}"] = server.requests - before
        assert told.code == 0, told
        assert told.json()["outcomes"] == {"scored": 20}
        return told

    first = await judged("first")
    second = await judged("second")
    await judged("third", "--fresh")
    await judged("third", "--fresh")

    assert calls == {"first": 40, "second": 0, "third": 40, "third again": 0}
    assert "calls" not in second.numbers("spent")
    assert first.numbers("benchmarkRun")["overallScore"] == second.numbers("benchmarkRun")["overallScore"]
    per_case = place.rows("SELECT test_case_id, count(*), count(DISTINCT trial) FROM test_run GROUP BY test_case_id")
    assert per_case == [(case_id(number), 6, 2) for number in range(10)]
