"""A store of what is hard to show: a fall without a threshold, benchmarks that only one kind of run has touched, long cases."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Fields, Json
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, InlineBranch, run_ab_test
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.engine.seals.seal import SealAsked, seal_benchmark
from tests.browser import people
from tests.shared.engine.ab_workshop import Words
from tests.shared.engine.drawn_models import Drawn, Scripted
from tests.shared.world.shown import run_in_world
from tests.workshop import START, SteppingClock, answer, bench, benchmark, case, config_in, minion, opened, save

CLIFF = "support/refunds"
SIZE = 100
BEFORE = (4, 6, 5, 3, 5, 4)
AFTER = (31, 33, 30, 34, 32, 33)
"""Cases that fail in each run: a fall of which no run alone is below a threshold, for there is none."""
PAGES = {
    "cliff benchmark": f"/benchmark?id={CLIFF.replace('/', '%2F')}",
    "cliff run": "/run?id=job7",
    "cliff overview": "/",
    "cliff comparison": "/comparison?before=job6&after=job7",
    "cliff runs": "/runs",
    "long trajectory": "/case?run=job13&at=0.1",
    "endless trajectory": "/case?run=job13&at=7.1",
    "markdown output": "/case?run=job13&at=1.1",
    "json output": "/case?run=job13&at=2.1",
    "conversation": "/case?run=job13&at=3.1",
    "python output": "/case?run=job13&at=4.1",
    "markdown beside expected": "/case?run=job13&at=5.1&beside=expected",
    "agents run": "/run?id=agents",
    "sealed benchmark": "/benchmark?id=exam",
    "compared benchmark": "/benchmark?id=lifted",
    "branches benchmark": "/benchmark?id=moods",
    "branches": "/ab?id=job26",
    "case in a world": "/case?run=job27&at=0.1",
    "trajectory in a world": "/trajectory?run=job27&at=0.1",
    "production": "/production",
    "judges": f"/agreement?id={quote(people.LABELLED, safe='')}",
    "case with notes": "/case?run=job28&at=2.1",
    "user played by a person": f"/judge?run={quote(people.TALKS, safe='')}",
    "people who judge": f"/assign?run={quote(people.TALKS, safe='')}",
}
ACTS = {
    "draft made": (
        PAGES["case with notes"],
        "document.querySelector('form[action=\"/promote\"]').submit()",
    ),
}
"""Pictures only: what a script leads to from a page."""


async def filled(folder: Path) -> None:
    """The store `evals.db` in that folder."""
    async with opened(config_in(folder)) as engine:
        await cliff(engine)
        await agents(engine)
        await one_kind_each(engine)
        await run_in_world(engine, folder)
        await people.added(engine)


async def cliff(engine: Engine) -> None:
    """Twelve runs of a benchmark: six at 95 %, then six at 68 %; a few other cases fail in each."""
    idents = [f"c{number:03}" for number in range(SIZE)]
    cases = [case(ident, name=f"Refund {ident[1:]}", expectedOutputs={"output": "good"}) for ident in idents]
    await save(engine, cases, benchmark(CLIFF, *idents, name="Refunds"))
    for number, failing in enumerate((*BEFORE, *AFTER)):
        await run_of(engine, CLIFF, idents, number, {(at + 7 * number) % 40 for at in range(failing)})


async def run_of(engine: Engine, benchmark_id: str, idents: list[str], number: int, failing: set[int]) -> str:
    """One more run of the benchmark, a day after the one before, in which the cases at those places fail."""
    assert isinstance(engine.clock, SteppingClock)
    engine.clock.now = START.replace(month=12, day=1 + number)
    outputs = [
        answer(
            f"{benchmark_id}/{number}/{ident}", ident, "bad" if at in failing else "good", promptVersionRef="refunds@1",
            triggeredAt=iso(engine.clock.now),
        )
        for at, ident in enumerate(idents)
    ]  # fmt: skip
    await save(engine, outputs)
    return (await bench(engine, benchmark_id, prompt_version_ref="refunds@1")).id


STEPS, ENDLESS = 60, 500
TABLE = '''## Refund of order A-1009

The order is **eligible**. What happens next:

1. We cancel the parcel.
2. The card ending in `4242` is credited.

| part | amount |
|:-----|-------:|
| kettle | £31.80 |
| delivery | £3.95 |

```python
def total(parts):
    """Sum of the parts."""
    return sum(parts.values())  # in pounds
```

See [the policy](https://shop.example/returns) and ![a picture](https://shop.example/kettle.png).
'''
ORDER: Json = {
    "order": "A-1009",
    "state": "paid",
    "lines": [{"sku": "KETTLE-2", "quantity": 1, "price": 31.8}, {"sku": "DELIVERY", "quantity": 1, "price": 3.95}],
    "customer": {"name": "Mairi Campbell", "verified": True, "notes": None},
}
TALK: list[JsonValue] = [
    {"role": "system", "content": "You are a support agent."},
    {"role": "user", "content": "Where is my parcel?"},
    {"role": "assistant", "content": "It is in **Leith** and arrives tomorrow."},
    {"role": "user", "content": "And my refund?"},
    {"role": "assistant", "content": "There is none open for order `A-1009`."},
]
CODE = '''def mean(values):
    """Arithmetic mean of at least 2 values, as Karl Pearson wrote in 1895."""
    return sum(values) / len(values)
'''


def steps(number: int = STEPS) -> list[JsonValue]:
    """So many calls: five equal ones in a row, two that failed, some of a second agent."""
    calls: list[JsonValue] = []
    for at in range(1, number + 1):
        call: Json = {
            "id": f"s{at}", "tool": ("search_orders", "get_order", "read_policy")[at % 3],
            "arguments": {"query": f"order A-{1000 + at}", "limit": 5}, "result": {"rows": at, "state": "paid"},
            "durationMs": 40 + 13 * (at % 17),
        }  # fmt: skip
        if 20 <= at < 25:
            call |= {"tool": "poll_status", "arguments": {"order": "A-1009"}}
        if at in {31, 48}:
            call |= {"error": "timeout after 30 s", "result": None}
        if 40 <= at < 44:
            call |= {"parentId": "s39", "agent": "refunds"}
        calls.append(call)
    return calls


async def agents(engine: Engine) -> None:
    """One run over outputs of every kind, all of which fail a check."""
    outputs: dict[str, Json] = {
        "long": {"output": "The refund was sent."}, "markdown": {"output": TABLE}, "json": {"output": json.dumps(ORDER)},
        "talk": {"messages": TALK}, "code": {"output": CODE}, "close": {"output": "Your refund of £35.75 is on its way."},
        "word": {"output": "W" * 400}, "endless": {"output": "The refund was sent."},
    }  # fmt: skip
    checks: dict[str, list[JsonValue]] = {
        "markdown": [
            {"type": "icontains", "value": "eligible"}, {"type": "not-icontains", "value": "cancel"},
            {"type": "javascript", "value": "output.length < 4000"}, {"type": "word-count", "value": {"max": 40}},
        ],
        "json": [{"type": "is-json"}, {"type": "icontains", "value": "refunded", "weight": 2}],
        "talk": [{"type": "icontains", "value": "apologise"}],
        "code": [{"type": "icontains", "value": "statistics.mean"}, {"type": "icontains", "value": "def"}],
    }  # fmt: skip
    records: list[Record[Fields]] = []
    for ident, output in outputs.items():
        asked: Json = {"message": f"The {ident} one: where is my refund for order A-1009?"}
        if ident in checks:
            records.append(case(ident, name=f"Agent, {ident}", inputs=asked, assertions=checks[ident]))
        else:
            expected: Json = {"output": "Your refund of £35.75 was sent on 3 May."}
            records.append(case(ident, name=f"Agent, {ident}", inputs=asked, expectedOutputs=expected))
        log: Json = {"toolCallsLog": steps(taken)} if (taken := {"long": STEPS, "endless": ENDLESS}.get(ident)) else {}
        records.append(
            minion(
                f"agents/{ident}",
                "agent-run",
                agentId="a",
                status="success",
                inputs=asked,
                outputs=output,
                promptVersionRef="agent@1",
                triggeredAt="2026-12-20T00:00:00Z",
                **log,
            )
        )
    await save(engine, records, benchmark("agents", *outputs, name="Agents"))
    await bench(engine, "agents", prompt_version_ref="agent@1", key="agents")


async def one_kind_each(engine: Engine) -> None:
    """A sealed benchmark with seven ended runs, one that was only compared, and one that only an A/B test has used."""
    for name in ("exam", "lifted", "moods"):
        idents = [f"{name}{number}" for number in range(8)]
        cases = [case(ident, name=ident, expectedOutputs={"output": "good"}) for ident in idents]
        outputs = [
            answer(
                f"{version}/{ident}", ident, "good" if number or version == "after" else "bad", promptVersionRef=version
            )
            for version in ("before", "after")
            for number, ident in enumerate(idents)
        ]
        await save(engine, cases, benchmark(name, *idents, name=name.capitalize()), outputs)
    for number in range(7):
        await bench(engine, "exam", prompt_version_ref="before", key=f"exam{number}", fresh=True)
    await seal_benchmark(engine, SealAsked(benchmark_id="exam"), by="person:maria")
    await compare_prompt_versions(
        engine, ComparisonRequest(benchmark_id="lifted", version_a="before", version_b="after", key="lift")
    )
    engine.models = Scripted(Drawn("page", every=2))
    engine.opened_embedder = Words()
    branches = (
        InlineBranch(name="now", provider="openai", model="gpt-4o", is_control=True),
        InlineBranch(name="small", provider="openai", model="gpt-4o-mini"),
    )
    await run_ab_test(engine, AbTestRequest(benchmark_id="moods", branches=branches))
