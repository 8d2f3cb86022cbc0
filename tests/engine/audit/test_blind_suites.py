"""Suites of kinds that the audit was not tuned on: at first 37 of 40 weak ones were named and 1 of 40 sound ones accused.

Missed were a ranking in the wrong order and a limit of edits that lets nearly nothing pass, which were mended, and a list of
alternatives of which one alone is right: other lists of alternatives name the same thing twice, and nobody can tell them apart.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.audit.test_audit import audited, cases, engine_at, kinds
from tests.shared.engine.blind_suites import KINDS, case_of, check
from tests.shared.engine.planted_suites import Case


async def holes(folder: Path, *, weak: bool) -> dict[str, set[str]]:
    """The holes of each suite."""
    found: dict[str, set[str]] = {}
    async with engine_at(folder) as engine:
        for kind in KINDS:
            (one,) = (await audited(engine, [case_of(kind, weak=weak)], suggest=False))[1].values()
            found[kind.name] = kinds(one)
    return found


async def test_of_40_weak_suites_at_least_38_are_named_and_of_40_sound_ones_at_most_2_accused(tmp_path: Path) -> None:
    weak, sound = await holes(tmp_path / "weak", weak=True), await holes(tmp_path / "sound", weak=False)
    assert len(weak) == len(sound) == 40
    assert sum(map(bool, weak.values())) >= 38, [name for name, kinds_found in weak.items() if not kinds_found]
    assert sum(map(bool, sound.values())) <= 2, {
        name: kinds_found for name, kinds_found in sound.items() if kinds_found
    }


def listing(question: str, *items: str, numbered: bool = True) -> Case:
    answer = "\n".join(f"{number}. {item}" if numbered else f"- {item}" for number, item in enumerate(items, 1))
    return {
        "name": "a list", "inputs": {"question": question}, "expectedOutputs": {"output": answer},
        "assertions": [check("icontains-all", [*items])],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("case", "named"),
    [
        (listing("Name the rivers in order of length.", "Nile", "Amazon", "Yangtze"), True),
        (listing("In welcher Reihenfolge wird geschaltet?", "Kupplung treten", "Gang einlegen", "Gas geben"), True),
        (listing("What do I need from the shop?", "Milk", "Eggs", "Bread"), False),
        (listing("Name the rivers in order of length.", "Nile", "Amazon", "Yangtze", numbered=False), False),
    ],
)
async def test_a_numbered_list_that_is_asked_for_in_an_order_is_wrong_in_another(
    tmp_path: Path, case: Case, *, named: bool
) -> None:
    async with engine_at(tmp_path) as engine:
        _, found = await audited(engine, cases(case))
    assert ("step" in kinds(found["c0"])) is named
    suggestion = found["c0"].suggestion
    assert not named or (suggestion is not None and "step" in suggestion.closes)


@pytest.mark.parametrize(("edits", "named"), [(20, True), (4, False)])
async def test_a_limit_of_edits_that_lets_a_few_letters_pass_is_named(
    tmp_path: Path, edits: int, *, named: bool
) -> None:
    text = "The red house by the lake"
    case: Case = {
        "name": "a house", "inputs": {"question": "Which house?"}, "expectedOutputs": {"output": text},
        "assertions": [check("levenshtein", text, threshold=edits)],
    }  # fmt: skip
    async with engine_at(tmp_path) as engine:
        _, found = await audited(engine, cases(case))
    assert ("shortest" in kinds(found["c0"])) is named
