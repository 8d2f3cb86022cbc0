"""A suite that tries everything on a reader: markup, links, control and direction characters, formulas, very long outputs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import timedelta
from functools import partial

from minions_evals_mcp.domain.outcomes import UnitKey
from minions_evals_mcp.engine.answers.report_data import find_subject, read_report, report_cases
from minions_evals_mcp.engine.answers.report_values import Report, ReportedCase
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.report.documents.forms import FORMS
from minions_evals_mcp.store.leases import ChunkLease, grant
from tests.workshop import Json, answer, bench, benchmark, case, rubric, save, says

OWNED = "document.title='owned';document.body.id='owned'"
PAYLOADS = (
    f"<script>{OWNED}</script>",
    f"</script><script>{OWNED}</script>",
    f"<!--<script>{OWNED}</script>-->",
    f'</pre></details><img src=x onerror="{OWNED}">',
    f'"><svg/onload="{OWNED}">',
    f'<a href="javascript:{OWNED}" hx-get="/page.js" hx-trigger="load" hx-on:htmx:load="{OWNED}">javascript:{OWNED}</a>',
    f"[click](javascript:{OWNED}) ![x](http://127.0.0.1:9/x.png) http://127.0.0.1:9/ @everyone #1",
    "```\n</code>\n\n# heading\n\n- [ ] task | cell | cell\n```",
    "{{ 7 * 7 }} {% include 'x' %} ${7*7} &lt;b&gt; &#60;b&#62; ]]> <![CDATA[",
    "\x1b[2J\x1b]0;owned\x07\x1b[31mred\x1b[0m \x00\x01\x0b\x7f\x9b\ufffe\uffff",
    "abc\u202etxt.exe\u202c \u2066\u2067\u2069\u200f\u200e\u061c\u200b\ufeff",
    "=cmd|'/C calc'!A0",
    "+1+1\t-1\r\n@SUM(A1)",
    "\u2028\u2029 quotes \"double\" 'single' `tick` \\ back",
    "\t\n\r\n  \n",
)
NAME = f"A \"name\" with 'quotes' & <script>{OWNED}</script> | `tick` *star*"
LONG = 5_000_000


async def hostile_runs(engine: Engine, *, long: int = 0) -> None:
    """The benchmark `b`, run as `one`, where all pass, and `two`, where none does; the first outputs are `long` longer.

    Workers of a cluster bear the payloads as names.
    """
    cases = [
        case(f"c{number}", name=f"{NAME} {text[:80]}", inputs=inputs(number), rubricId="r")
        for number, text in enumerate(PAYLOADS)
    ]
    names = [one.id for one in cases]
    await save(engine, rubric("r", 0.5, tone={**says("zzz"), "name": NAME}), cases, benchmark("b", *names, name=NAME))
    for version in ("one", "two"):
        for number, text in enumerate(PAYLOADS):
            output = said(version, text, 0 if number else long)
            run = answer(f"{version}/{number}", f"c{number}", output, promptVersionRef=version, inputs=inputs(number))
            await save(engine, run)
        job = await bench(engine, "b", prompt_version_ref=version, key=version)
        for chunk, worker in enumerate(PAYLOADS):
            lease = ChunkLease(job.id, chunk + 1, 1, worker, [UnitKey(job.id, chunk, 1)])
            await engine.store.write(partial(grant, lease=lease, at=job.created_at, lasts=timedelta(minutes=1)))


def inputs(number: int) -> Json:
    """What a case asks: its id, and its payload as name and as value."""
    return {"q": f"c{number}", PAYLOADS[number][:60]: PAYLOADS[number]}


def said(version: str, text: str, long: int) -> str:
    """An answer; the first version's are right."""
    return ("zzz " + text if version == "one" else text + " changed") + " word" * (long // 5)


async def read(engine: Engine, ident: str, *, compare: str | None = None) -> tuple[Report, list[ReportedCase]]:
    """The report's figures and its cases."""
    report = await read_report(engine, await find_subject(engine, ident, compare=compare))
    async with aclosing(report_cases(engine, report)) as cases:
        return report, [one async for one in cases]


async def written(engine: Engine, form: str, ident: str, *, compare: str | None = None) -> str:
    """The report in that form."""
    report = await read_report(engine, await find_subject(engine, ident, compare=compare))
    async with aclosing(FORMS[form](engine, report)) as pieces:
        return "".join([piece async for piece in pieces])


async def listed(*cases: ReportedCase) -> AsyncIterator[ReportedCase]:
    """Those cases, as they arrive from a store."""
    for one in cases:
        yield one
