"""The difference of two versions at every interface: the number beside a verdict is the one whose interval stands there."""

from __future__ import annotations

import html
import json
import random
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import cast

import pytest
from pydantic import JsonValue

from minions_evals_mcp.store.connection import open_raw
from tests.cli.suites import answer, benchmark, case, record, suite
from tests.shared.cli.terminal import Json, Terminal
from tests.shared.server.hosts import hosted
from tests.shared.view.visitor import visitor
from tests.workshop import config_in, opened

NUMBER = r"[+-]?\d+\.\d+"
SURE = re.compile(rf"([\d.]+) %(?: CI)?:? ({NUMBER}) to ({NUMBER})")
DELTA = re.compile(rf"(?<![\d.])([+-]\d+\.\d+)|({NUMBER}) (higher|lower)|(as high as)")
Outputs = Mapping[str, Mapping[str, list[bool]]]
"""What passed: by version and case, each recorded output."""
GAIN = {"gain": 0.5, "none": 0.0, "fall": -0.35}


@dataclass(frozen=True, slots=True)
class Stated:
    """A difference with its interval, as some interface states it."""

    where: str
    delta: float
    low: float
    high: float


def drawn(seed: int, gain: float) -> Outputs:
    """Two versions of 24 cases: each case has none to three outputs of either, and the hard ones lack more."""
    draws = random.Random(f"{seed} {gain}")  # noqa: S311  outputs, no secret
    outputs: dict[str, dict[str, list[bool]]] = {"v1": {}, "v2": {}}
    for number in range(24):
        ease = draws.random()
        for version, chance in (("v1", ease * 0.7), ("v2", min(1.0, max(0.0, ease * 0.7 + gain)))):
            tried = draws.choice((0, 1, 1, 2, 3) if ease < 0.4 else (1, 1, 2, 3))
            if tried or number < 4:
                outputs[version][f"c{number}"] = [draws.random() < chance for _ in range(max(1, tried))]
    return outputs


def suite_of(outputs: Outputs) -> JsonValue:
    """The records of those outputs."""
    names = [f"c{number}" for number in range(24)]
    records: list[Json] = [
        record(version, "prompt-version", content=f"Say {version}.", versionNumber=number, promptId="p")
        for number, version in enumerate(outputs, 1)
    ]
    for version, by_case in outputs.items():
        for name, passes in by_case.items():
            records += [
                answer(f"{name}/{version}/{time}", name, "green" if passed else "red", promptVersionRef=version)
                for time, passed in enumerate(passes)
            ]
    return suite(*records, *map(case, names), benchmark("b", *names))


def in_text(where: str, text: str) -> Iterator[Stated]:
    """The differences of scores that a text states with an interval."""
    plain = html.unescape(re.sub(r"<[^>]+>", " ", text)).replace("\u2212", "-").replace("\u00a0", " ")
    plain = re.sub(rf"\({NUMBER} over all of each\)", "", re.sub(r"\s+", " ", plain))
    for match in SURE.finditer(plain):
        before = [*DELTA.finditer(plain[max(0, match.start() - 220) : match.start()])]
        if "." not in match[2] or not before:
            continue
        near = before[-1]
        delta = float(near[1] or near[2] or 0) * (-1 if near[3] == "lower" else 1)
        yield Stated(f"{where}: ...{plain[match.start() - 60 : match.end()]}", delta, float(match[2]), float(match[3]))


def in_json(where: str, told: object) -> Iterator[Stated]:
    """The differences that an answer states in fields of their own."""
    if isinstance(told, list):
        for one in cast("list[object]", told):
            yield from in_json(where, one)
    if isinstance(told, dict):
        fields = cast("dict[str, object]", told)
        for delta, interval in (("decidedDelta", "interval"), ("decidedDelta", "deltaCi"), ("delta", "interval")):
            span = fields.get(interval)
            if isinstance(fields.get(delta), float | int) and isinstance(span, list):
                low, high = cast("list[float]", span)
                yield Stated(f"{where}.{delta}", float(cast("float", fields[delta])), low, high)
        for name, value in fields.items():
            yield from in_json(f"{where}.{name}", value)


async def told_everywhere(tmp_path: Path, comparison: Json) -> list[Stated]:
    """What every interface states of that comparison."""
    at, ident = Terminal(tmp_path), str(comparison["comparisonId"])
    runs = [str(comparison[side]) for side in ("runA", "runB")]
    stated: list[Stated] = []
    for words in (["runs", ident], ["diff", *runs], ["compare", *runs], ["runs", runs[1]]):
        stated += in_text(f"cli {words}", at.run(*words).out)
        stated += in_json(f"cli {words} --json", at.run(*words, "--json").one())
    stated += in_json("list", at.run("list", "prompt-comparison", "--json").rows())
    for form in ("html", "md"):
        at.run("report", ident, "-o", str(tmp_path / f"r.{form}"))
        stated += in_text(f"report.{form}", (tmp_path / f"r.{form}").read_text().replace("\\", ""))
    at.run("report", ident, "-o", str(tmp_path / "r.json"))
    stated += in_json("report.json", json.loads((tmp_path / "r.json").read_text()))
    approved = at.person("ada").run("approve", "v2", "--by", "ada", "--json")
    if approved.code == 0:
        reason = str(cast("Json", approved.one()["fields"])["reason"])
        found = re.search(rf"({NUMBER}) \(({NUMBER}) to ({NUMBER})\)", reason)
        assert found, reason
        stated.append(Stated("approval", *(float(found[number]) for number in (1, 2, 3))))
    config = config_in(tmp_path)
    async with hosted(config) as host:
        for tool, arguments in (("get_run", {"runId": ident}), ("compare_prompt_versions", {"runIds": runs})):
            told = await host.call(tool, **arguments)
            assert "comparison" in told, told
            stated += in_json(f"mcp {tool}", told)
            stated += in_text(f"mcp {tool}", json.dumps(told["comparison"]))
    async with opened(config) as engine, visitor(engine) as client:
        for path in ("/", "/benchmark?id=b", f"/comparison?id={ident}", f"/run?id={runs[1]}", f"/report?id={ident}"):
            stated += in_text(path, (await client.get(path)).text)
    return stated


def shared_difference(outputs: Outputs, asked: int) -> float:
    """The difference of scores over the cases of both, of at most so many outputs of each."""
    both = [name for name in outputs["v1"] if name in outputs["v2"]]
    return fmean(fmean(outputs["v2"][name][-asked:]) - fmean(outputs["v1"][name][-asked:]) for name in both)


def forget_what_decided(store: Path) -> None:
    """Leaves the comparisons of the store as they were kept before what decided them was part of them."""
    with closing(open_raw(store)) as db, db:
        guards = db.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'prompt_comparison'"
        ).fetchall()
        for name, _ in guards:
            db.execute(f'DROP TRIGGER "{name}"')
        kept = "json_remove(rest, '$.decidedDelta', '$.decidedScoreA', '$.decidedScoreB')"
        db.execute(f"UPDATE prompt_comparison SET rest = {kept}")
        for _, guard in guards:
            db.execute(guard)


@pytest.mark.parametrize("gain", GAIN)
@pytest.mark.parametrize(
    ("seed", "trials", "is_old"),
    [(1, 3, False), (2, 3, False), (3, 1, False), (1, 3, True)],
    ids=["three trials", "others", "one trial", "a comparison of an earlier version"],
)
async def test_every_number_beside_a_verdict_belongs_to_its_interval(
    tmp_path: Path, seed: int, trials: int, is_old: bool, gain: str
) -> None:
    outputs = drawn(seed, GAIN[gain])
    at = Terminal(tmp_path)
    at.run("import", at.file("s.json", suite_of(outputs)))
    made = at.run("compare", "b", "--from", "v1", "--to", "v2", "--trials", str(trials), "--json").one()
    delta, (low, high) = cast("float", made["decidedDelta"]), cast("list[float]", made["interval"])
    assert low <= delta <= high
    if trials == 3:
        assert delta == pytest.approx(shared_difference(outputs, trials))
        assert abs(delta - cast("float", made["scoreDelta"])) > 0.001, "the histories tell the two figures apart"
    if is_old:
        forget_what_decided(at.db)
    stated = await told_everywhere(tmp_path, made)
    wrong = [one for one in stated if not _is_the(one, delta, low, high)]
    assert not wrong, "\n".join(map(str, wrong))
    places = {re.split(r"[ .:\[]", one.where)[0] for one in stated}
    assert {"cli", "report", "mcp", "/", "/comparison?id=" + str(made["comparisonId"])} <= places, places


def _is_the(one: Stated, delta: float, low: float, high: float) -> bool:
    """Whether what is stated lies in its interval, and is the comparison's figure where the interval is the comparison's."""
    digits = 0.0051 if "by criterion" in one.where.lower() else 0.00051
    is_inside = one.low - digits <= one.delta <= one.high + digits
    is_own = abs(one.low - low) < digits and abs(one.high - high) < digits
    return is_inside and (not is_own or abs(one.delta - delta) < digits)
