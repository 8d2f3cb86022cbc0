"""Suites of sixty more kinds: blind, 34 of 40 weak ones were named and 0 of 40 sound ones accused.

Missed were answers that are one of a few which the question or the checks name, signs such as Morse code, a fraction on its head,
and Hindi. After these were mended, 20 of 20 of the second part were named, and 2 of 20 accused. One of the two was rightly accused,
for its pattern was wrong, and is mended here. The other was its answer without a space.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.audit.test_audit import audited, cases, engine_at, kinds
from tests.shared.engine.blind_suites import case_of, check
from tests.shared.engine.fresh_suites import FIRST, SECOND
from tests.shared.engine.planted_suites import Case


async def test_of_60_weak_suites_at_least_57_are_named_and_of_60_sound_ones_at_most_3_accused(tmp_path: Path) -> None:
    named: dict[bool, list[str]] = {}
    for weak in (True, False):
        made = {kind.name: case_of(kind, weak=weak) for kind in (*FIRST, *SECOND)}
        async with engine_at(tmp_path / str(weak)) as engine:
            found = [(await audited(engine, [case], suggest=False))[1] for case in made.values()]
        named[weak] = [name for name, one in zip(made, found, strict=True) if any(map(kinds, one.values()))]
        assert len(made) == 60
    assert len(named[True]) >= 57, named[True]
    assert len(named[False]) <= 3, named[False]


def choice(question: str, answer: str, *checks: object, **fields: object) -> Case:
    return {
        "name": "a choice", "inputs": {"question": question}, "expectedOutputs": {"output": answer}, "assertions": [*checks],
        **fields,
    }  # fmt: skip


ANY = check("contains-any", ["tea", "coffee"])


@pytest.mark.parametrize(
    ("case", "named"),
    [
        (choice("Which did she order, tea or coffee?", "tea", ANY), True),
        (choice("Which did she order, tea or coffee?", "tea", ANY, acceptedOutputs=[{"output": "coffee"}]), False),
        (choice("Name a hot drink.", "tea", ANY), False),
        (choice("Is it open?", "Yes", check("regex", "^(Yes|No)$")), True),
    ],
)
async def test_a_check_that_takes_each_of_the_answers_between_which_one_is_to_choose_is_named(
    tmp_path: Path, case: Case, *, named: bool
) -> None:
    async with engine_at(tmp_path) as engine:
        _, found = await audited(engine, cases(case))
    assert bool({"name", "negation"} & kinds(found["c0"])) is named
