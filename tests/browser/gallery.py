"""A store with one of everything that a person may look at: what is ordinary, what is alarming, what waits, what is long.

`python -m tests.browser.gallery [FOLDER] [WORD ...]` writes pictures of every page, in two themes and three widths.
A WORD is a part of a page's name, a theme (`light`, `dark`) or a width (`1440`, `1024`, `390`).
"""

from __future__ import annotations

import sys
from pathlib import Path

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.interop.audit.audits import audit
from tests.browser import people
from tests.shared.view.visitor import TWO
from tests.workshop import Json, answer, bench, benchmark, by_rule, case, config_in, opened, rubric, save, says

ASKED = (
    ("Refund inside 30 days", "Can I still send the kettle back? I bought it on the 3rd."),
    ("Refund after the window", "It is 40 days now. Do I get my money back?"),
    ("Kettle arrived damaged", "The lid is cracked and the box was wet."),
    ("Angry about a late delivery", "WHERE IS MY PARCEL??? Third time I ask!"),
    ("Charged twice for one order", "My card shows £31.80 twice."),
    ("Address changes before dispatch", "Please send it to my new address in Leith."),
    ("Warranty on the kettle", "How long is the warranty?"),
    ("Donaudampfschifffahrtsgesellschaftskapitänsmützenbestellung", "Wann kommt die Mütze?"),
    ("A customer who writes everything into the subject line and then goes on, without a stop, for three lines", "…"),
    ("Gift card", "Can I pay with two gift cards?"),
    ("Ünïcode 🫖 and 中文", "退货可以吗?"),
    ("Cancel an order", "Please cancel order A-1009."),
)
CRITERIA = {
    "answers": says("refund", name="Answers what the customer asked", weight=0.5),
    "ticket": says("ticket", name="Quotes the ticket", weight=0.3),
    "kind": by_rule("[{type: not-icontains, value: calm down}]", name="Stays kind", weight=0.2, maxScore=5),
}
GOOD = "Yes, of course: the refund is on its way to the card that you paid with.\nYour ticket is T-{number}."
BAD = "Please calm down. Our returns page has the answer: https://shop.example/returns"
CALL: Json = {
    "tool": "get_order",
    "arguments": {"order": "A-1009"},
    "result": {"state": "paid", "total": 42.5},
    "durationMs": 310,
}
BENCHMARK, COMPARED, LIVE, IDLE = "support/quality", "compared", "tone/live", "idle"
NEWEST = "newest"
"""The run of the second version, which fell."""
MISSING = "no such page"
PAGES = {
    "overview": "/",
    "runs": "/runs",
    "benchmark": f"/benchmark?id={BENCHMARK}",
    "benchmark that never ran": f"/benchmark?id={IDLE}",
    "finished run": "/run?id=job5",
    "run in progress": "/run?id=job11",
    "case": "/case?run=job5&at=1.1",
    "case that passed": "/case?run=job1&at=1.1",
    "failures": "/failures",
    "outbox": "/outbox",
    "queue": "/judge",
    "changes": "/comparison?before=job4&after=job5",
    "versions side by side": f"/matrix?id={BENCHMARK.replace('/', '%2F')}",
    "costs": "/costs",
    "audit": f"/audit?id={BENCHMARK.replace('/', '%2F')}",
    "trajectory": "/trajectory?run=job5&at=0.1",
    "prompts": "/prompts",
    "run again": "/again?id=job5",
    "first run": f"/again?benchmark={IDLE}",
    "two runs": "/report?id=job5&compare=job4",
    MISSING: "/nothing",
}
EMPTY = {
    "production without traces": "/production",
    "judges without labels": f"/agreement?id={BENCHMARK.replace('/', '%2F')}",
    "sharing without people": "/assign?run=job11",
}
ACTS = {
    "keys": ("/", "document.querySelector('[data-keys]').click()"),
    "finder": (
        "/",
        "document.querySelector('[data-find]').click(); const typed = document.querySelector('#find input');"
        " typed.value = 'refund'; typed.dispatchEvent(new Event('input', {bubbles: true}))",
    ),
}
"""Pictures only: states that hold nothing, and what a script leads to from a page."""
REPORTS = {
    "a run": (NEWEST, None),
    "two runs": (NEWEST, "fourth"),
    "a benchmark": (BENCHMARK, None),
    "a comparison": (COMPARED, None),
}
"""What each report is of, and beside which run."""
TWICE = {"two runs", "report of a benchmark"}
"""Documents that are there under another address, too: the report of two runs, and that of the benchmark's newest run."""


async def filled(folder: Path) -> None:
    """The store `evals.db` in that folder."""
    async with opened(config_in(folder)) as engine:
        await _ordinary(engine)


async def _ordinary(engine: Engine) -> None:
    await _history(engine)
    await _waiting(engine)
    await save(engine, benchmark(IDLE, "case0", name="Never tried"))
    await audit(engine, BENCHMARK)


async def _history(engine: Engine) -> None:
    """Runs of one version, a break where the rubric is changed, runs of it and of the next, and the two compared."""
    ids = [f"case{number}" for number in range(len(ASKED))]
    await save(engine, rubric("r", 0.7, **CRITERIA), _cases(), benchmark(BENCHMARK, *ids, name="Support quality"))
    for version, careless in (("support@1", 1), ("support@2", 7)):
        await save(engine, [_answered(version, number, careless) for number in range(len(ASKED))])
    for key in ("first", "second"):
        await bench(engine, BENCHMARK, prompt_version_ref="support@1", key=key, fresh=True)
    changed = {**CRITERIA, "ticket": says("ticket is", name="Quotes the ticket", weight=0.3)}
    await save(engine, rubric("r", 0.7, **changed))
    for key in ("third", "fourth"):
        await bench(engine, BENCHMARK, prompt_version_ref="support@1", key=key, fresh=True)
    await bench(engine, BENCHMARK, prompt_version_ref="support@2", key=NEWEST)
    compared = ComparisonRequest(benchmark_id=BENCHMARK, version_a="support@1", version_b="support@2", key=COMPARED)
    await compare_prompt_versions(engine, compared)


def _cases() -> list[Record[Fields]]:
    return [
        case(
            f"case{number}", name=title, rubricId="r", inputs={"message": text, "locale": "en"},
            expectedOutputs={"output": GOOD.format(number=number)} if number % 3 == 0 else None,
        )
        for number, (title, text) in enumerate(ASKED)
    ]  # fmt: skip


def _answered(version: str, number: int, careless: int) -> Record[Fields]:
    """That version's output; it is careless with the first so many cases."""
    text = BAD if number < careless else GOOD.format(number=number)
    return answer(
        f"{version}/{number}", "", text, promptVersionRef=version, toolCallsLog=[CALL],
        inputs={"message": ASKED[number][1], "locale": "en"},
    )  # fmt: skip


async def _waiting(engine: Engine) -> None:
    """A run of which one output is judged by rule and two wait for a person."""
    await save(engine, rubric("tone", 2, **TWO))
    cases = [case(f"tone{number}", name=f"Tone of reply {number}", rubricId="tone") for number in range(2)]
    easy = case("easy", name="Easy", expectedOutputs={"output": "Hello."})
    ids = [one.id for one in (*cases, easy)]
    answers = [answer(f"a/{ident}", ident, "Hello.", promptVersionRef="tone@1") for ident in ids]
    await save(engine, cases, easy, benchmark(LIVE, *ids, name="Tone of voice"), answers)
    await bench(engine, LIVE, key=LIVE)


async def _team(folder: Path) -> None:
    """The gallery's store, and the people who look at it together."""
    async with opened(config_in(folder)) as engine:
        await _ordinary(engine)
        await people.added(engine)


if __name__ == "__main__":
    from tests.browser import pictures, showcase

    pictures.taken(
        sys.argv[1:],
        {
            "gallery": pictures.Exhibition(filled, PAGES | EMPTY, ACTS),
            "showcase": pictures.Exhibition(showcase.filled, showcase.PAGES, showcase.ACTS),
            "team": pictures.Exhibition(
                _team,
                {"signed in overview": "/", "signed in queue": "/judge"},
                {},
                people.TOKENS["anna"],
                {"sign in": "/sign-in"},
            ),
        },
    )
