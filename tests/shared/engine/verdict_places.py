"""Every place that states the verdict on a pair of runs or the newest change of level of a benchmark, asked as a user asks."""

from __future__ import annotations

import html
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from tests.shared.cli.terminal import Terminal
from tests.shared.engine.histories import recorded
from tests.shared.report.hostile import written
from tests.shared.server.hosts import hosted
from tests.shared.view.visitor import visitor
from tests.workshop import config_in, opened

VERDICT = "(improved|regressed|equivalent|inconclusive|unchanged|not comparable)"
CLAUSE = f"it (?:is )?{VERDICT}"
LEVEL = r"the level (?:fell|rose) by [\d.]+ on [\d-]+ \([\d.]+ → [\d.]+, \d+ runs? on this level\)"
Stated = dict[int, dict[str, tuple[str, str]]]
"""By history and place: the verdict, and the newest change of level (empty where there is none; "?" where a place names none)."""


async def stated(folder: Path, seeds: Sequence[int]) -> Stated:
    """What each place states of the newest run of each of those histories beside the run before it."""
    found: Stated = defaultdict(dict)
    async with opened(config_in(folder)) as engine:
        runs = {seed: (await recorded(engine, seed))[-2:] for seed in seeds}
        async with visitor(engine) as client:

            async def page(address: str) -> str:
                return html.unescape(re.sub(r"<[^>]+>", " ", (await client.get(address)).text))

            pages = range(1, len(runs) // 50 + 2)
            overview = "".join([(await client.get(f"/?page={number}")).text for number in pages])
            for seed, (before, after) in runs.items():
                row = re.search(rf"<tr>\s*<th[^>]*><a [^>]*>History {seed}</a>.*?</tr>", overview, re.DOTALL)
                assert row is not None
                found[seed]["overview"] = _words(html.unescape(re.sub(r"<[^>]+>", " ", row[0])), rf"[▲▼=?≠] {VERDICT}")
                about = await page(f"/benchmark?id=history%2F{seed}")
                found[seed]["benchmark page"] = _words(
                    about, f"Compared with the run before, {CLAUSE}|History {seed} {VERDICT}"
                )
                found[seed]["run page"] = _words(await page(f"/run?id={after}"), CLAUSE)
                changes = await page(f"/comparison?before={before}&after={after}")
                found[seed]["comparison page"] = (
                    _first(rf"\S {VERDICT}:|≠ (not comparable)", " ".join(changes.split())),
                    "?",
                )
                report = await written(engine, ".html", after)
                text = html.unescape(re.sub(r"<[^>]+>", " ", report))
                found[seed]["report"] = _words(text, rf"Compared with the run of [^:]+:\d\d UTC, {CLAUSE}")
                markdown = (await written(engine, ".md", after)).replace("\\", "").replace("&gt;", ">")
                found[seed]["markdown"] = _words(
                    html.unescape(markdown), rf"Compared with the run of [^:]+:\d\d UTC, {CLAUSE}"
                )
    _ask_terminal(folder, runs, found)
    await _ask_server(folder, runs, found)
    return found


def _ask_terminal(folder: Path, runs: dict[int, list[str]], found: Stated) -> None:
    at = Terminal(folder)
    listed = json.loads(at.run("runs", "--limit", "1000", "--json").out)["runs"]
    by_id = {one["runId"]: one for one in listed}
    for seed, (before, after) in runs.items():
        trend, diff = at.many(["trend", f"history/{seed}"], ["diff", before, after])
        found[seed]["trend"] = _words(" ".join(trend.out.split()), f"compared with the run before, {CLAUSE}")
        found[seed]["diff"] = (_first(rf" {VERDICT}:", " ".join(diff.out.split())), "?")
        found[seed]["runs"] = (_shown(by_id[after]["change"]), "?")


async def _ask_server(folder: Path, runs: dict[int, list[str]], found: Stated) -> None:
    async with hosted(config_in(folder)) as host:
        for seed, (_, after) in runs.items():
            run = await host.call("get_run", runId=after)
            trend = await host.call("detect_trend", benchmarkId=f"history/{seed}")
            for place, answer in (("get_run", run), ("detect_trend", trend)):
                change = cast("dict[str, object]", answer["change"])
                level = cast("dict[str, object] | None", answer.get("levelChange"))
                summary = str(answer["summary"])
                assert (level is None) == (re.search(LEVEL, summary) is None), place
                found[seed][place] = (_shown(change), _first(LEVEL, summary, missing=""))


def _shown(change: dict[str, object]) -> str:
    """The word that a reader sees for a verdict that a program reads: no case moved where it would be inconclusive."""
    is_unchanged = (
        change["verdict"] == "inconclusive" and change["basis"] == "test" and change["better"] == change["worse"] == 0
    )
    return "unchanged" if is_unchanged else str(change["verdict"])


def _words(text: str, verdict: str) -> tuple[str, str]:
    text = _DAY.sub(_iso, " ".join(text.split()))  # a page names the month
    return _first(verdict, text), _first(f"({LEVEL})", text, missing="")


_DAY = re.compile(r"\b\d{1,2} [A-Z][a-z]{2} \d{4}\b(?!,)")


def _iso(day: re.Match[str]) -> str:
    return datetime.strptime(day[0], "%d %b %Y").replace(tzinfo=UTC).date().isoformat()


def _first(pattern: str, text: str, *, missing: str | None = None) -> str:
    match = re.search(pattern, text)
    if match is None and missing is not None:
        return missing
    assert match is not None, (pattern, text[:3000])
    return match[match.lastindex or 0]
