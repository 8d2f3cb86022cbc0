"""A run whose suite was edited since the run before: one verdict, on the cases that both judged alike, at every interface."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from tests.cli.suites import answer, benchmark, record, suite
from tests.shared.cli.terminal import Json, Terminal
from tests.shared.server.hosts import hosted
from tests.shared.view.visitor import visitor
from tests.workshop import config_in, opened

EDITED, LEFT, KEPT, CAME = (
    [f"{kind}{number}" for number in range(size)] for kind, size in zip("elkn", (5, 3, 12, 4), strict=True)
)
WORDS = [f"w{number}." for number in range(10)]


def graded(ident: str, *, edited: bool = False) -> Json:
    """A case that scores a tenth for each of ten words and passes from one half; edited it wants one of them not said."""
    checks: list[JsonValue] = [
        {"type": "not-contains" if edited and word == WORDS[9] else "contains", "value": word} for word in WORDS
    ]
    return record(ident, "test-case", name=ident, inputs={"q": ident}, assertions=checks, threshold=0.5)


def said(ident: str, version: str, tenths: int) -> Json:
    return answer(f"{ident}/{version}", ident, " ".join(WORDS[:tenths]), promptVersionRef=version)


def before() -> JsonValue:
    cases = [*EDITED, *LEFT, *KEPT]
    versions = [record(f"v{n}", "prompt-version", content=f"{n}", versionNumber=n, promptId="p") for n in (1, 2)]
    return suite(*versions, *map(graded, cases), *(said(one, "v1", 9) for one in cases), benchmark("b", *cases))


def since(tenths: int, newly_failing: int) -> JsonValue:
    """The suite after an edit, where v2 says fewer words in all cases that stayed, and so few in some that they fail."""
    cases = [*EDITED, *KEPT, *CAME]
    falls = dict.fromkeys(KEPT[:newly_failing], 4)
    return suite(
        *(graded(one, edited=one in EDITED) for one in cases),
        *(said(one, "v2", falls.get(one, tenths if one in KEPT else 9)) for one in cases),
        benchmark("b", *cases),
    )


@pytest.mark.parametrize(
    ("tenths", "newly_failing", "verdict", "gate"),
    [(9, 0, "unchanged", 0), (8, 0, "regressed", 1), (8, 2, "regressed", 1), (4, 0, "regressed", 1)],
    ids=["nothing fell", "scores fell", "scores fell, and too few passes to tell", "passes fell"],
)
async def test_a_run_after_an_edit_of_its_suite_has_one_verdict_on_what_was_not_edited(
    tmp_path: Path, tenths: int, newly_failing: int, verdict: str, gate: int
) -> None:
    at = Terminal(tmp_path)
    at.run("import", at.file("s.json", before()))
    first = str(at.run("run-benchmark", "b", "--prompt-version", "v1", "--json").one()["runId"])
    at.run("import", at.file("t.json", since(tenths, newly_failing)))
    ended = at.run("run-benchmark", "b", "--prompt-version", "v2", "--json", "--fail-on-regression")
    newest = str(ended.one()["runId"])
    assert ended.code == gate, ended.err

    counted = f"12 comparable of {12 + len(EDITED)} cases"
    compared = at.run("diff", first, newest, "--json").one()
    reading = cast("Json", compared["reading"])
    assert (reading["cases"], reading["edited"]) == (12, len(EDITED))
    told = {"diff": at.run("diff", first, newest).out, "run": at.run("runs", newest).out}
    for form in ("md", "html"):
        at.run("report", newest, "-o", str(tmp_path / f"r.{form}"))
        told[form] = (tmp_path / f"r.{form}").read_text().replace("\\", "")
    config = config_in(tmp_path)
    async with hosted(config) as host:
        run = await host.call("get_run", runId=newest)
        told["mcp"] = str(run["summary"])
        told["trend"] = json.dumps(await host.call("detect_trend", benchmarkId="b"))
    async with opened(config) as engine, visitor(engine) as client:
        for path in ("/", f"/run?id={newest}", f"/comparison?before={first}&after={newest}", "/benchmark?id=b"):
            told[path] = (await client.get(path)).text
    plain = {
        where: " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split()).replace("\u00a0", " ")
        for where, text in told.items()
    }
    assert not [where for where, text in plain.items() if "not comparable:" in text or "≠" in text]
    silent = {"trend"} if verdict == "regressed" else {"trend", "run"}
    assert not [where for where in plain.keys() - silent if verdict not in plain[where]]
    with_figures = {"diff", "md", "html", "mcp", f"/run?id={newest}", f"/comparison?before={first}&after={newest}"}
    assert not [where for where in with_figures if counted not in plain[where]]
    assert cast("Json", run["verdict"])["evidence"] == ("supported" if gate else "undecidable")
    assert "fell, which is not statistically significant" not in plain["trend"]
    if gate and tenths == 8:
        assert "the score fell by" in plain["mcp"]
        assert "the score fell by" in ended.err
