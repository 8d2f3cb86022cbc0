"""Audits of suites: the holes that were planted are named, sound cases are not accused, and what closes a hole was tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.audits import Audit, CaseAudit
from minions_evals_mcp.domain.records import Record, record_from_wire
from minions_evals_mcp.engine.audit.suite import AuditSubject, audit_suite, keep_audit, subject_of
from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine, wall_clock
from minions_evals_mcp.engine.records.save_records import Arrival, save_records
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.shipped import shipped_folder
from tests.shared.engine.planted_suites import Case, Suite, ask, equals, sound_suites, weak_suites

CHEATS = {"empty", "echo", "refusal", "fixed", "paste-all", "other-case", "keywords", "shortest", "injection"}
MUTANTS = {"negation", "number", "date", "name", "step", "argument"}
FINDINGS = {"never-fails", "never-passes", "reference-fails", "no-reference", "duplicate"}


@asynccontextmanager
async def engine_at(folder: Path) -> AsyncGenerator[Engine]:
    async with open_engine(EngineConfig(db=folder / "evals.db", skills=shipped_folder("skills"))) as engine:
        yield engine


async def audited(
    engine: Engine, minions: Iterable[Case], *, suggest: bool = True
) -> tuple[Audit, dict[str, CaseAudit]]:
    """The audit of those records, and each case's."""
    wires = list(minions)
    await save_records(engine, [Arrival(record_from_wire(one, new_id="x", now=wall_clock())) for one in wires])
    idents = tuple(one["id"] for one in wires if one["type"] == "test-case")
    found: dict[str, CaseAudit] = {}
    record = await audit_suite(
        engine,
        AuditSubject("suite", "suite", idents),
        each=lambda one: found.update({one.test_case_id: one}),
        suggest=suggest,
    )
    return record.fields, found


def cases(*fields: Case) -> list[Case]:
    return [{"id": f"c{number}", "type": "test-case", "fields": one} for number, one in enumerate(fields)]


def kinds(found: CaseAudit) -> set[str]:
    return {*found.cheats_passed, *found.mutants_survived, *found.findings}


def test_every_kind_is_planted_at_least_five_times_in_at_least_sixty_suites() -> None:
    suites = weak_suites()
    planted = Counter(kind for suite in suites for kind in suite.planted.values())
    assert len(suites) >= 60
    assert set(planted) == CHEATS | MUTANTS | FINDINGS
    assert min(planted.values()) >= 5
    assert len(sound_suites()) >= 60


async def _all(folder: Path, suites: Iterable[Suite]) -> list[tuple[Suite, dict[str, CaseAudit]]]:
    async with engine_at(folder) as engine:
        return [(suite, (await audited(engine, suite.minions, suggest=False))[1]) for suite in suites]


@pytest.mark.anyio
async def test_of_the_planted_holes_at_least_95_percent_are_named_and_of_the_sound_cases_at_most_5_percent_accused(
    tmp_path: Path,
) -> None:
    found = await _all(tmp_path, [*sound_suites(), *weak_suites()])
    named = [(kind, kind in kinds(audits[ident])) for suite, audits in found for ident, kind in suite.planted.items()]
    missed = [kind for kind, is_named in named if not is_named]
    assert len(missed) <= 0.05 * len(named), missed
    by_kind = Counter(kind for kind, is_named in named if is_named)
    assert min(by_kind[kind] for kind in CHEATS | MUTANTS | FINDINGS) >= 4
    sound = [audits[ident] for suite, audits in found for ident in suite.sound]
    accused = [one for one in sound if not one.is_sound]
    assert len(sound) > 500
    assert len(accused) <= 0.05 * len(sound), accused


@pytest.mark.anyio
async def test_a_suggestion_passes_the_reference_and_its_paraphrases_and_stops_what_passed(tmp_path: Path) -> None:
    refund = ask(
        "When do I get my 42 euros back?",
        "The 42 euros are back within 5 days.",
        {"type": "icontains", "value": "euros"},
    )
    accepted: list[JsonValue] = [
        "You have the 42 euros within 5 days.",
        "Within 5 days: 42 euros.",
        "It takes 5 days for 42 euros.",
    ]
    async with engine_at(tmp_path) as engine:
        weak = cases({**refund, "acceptedOutputs": accepted}, ask("Which metal is liquid?", "mercury"))
        _, before = await audited(engine, weak)
        suggestion = before["c0"].suggestion
        assert suggestion is not None
        assert {"echo", "number"} <= {*before["c0"].cheats_passed, *before["c0"].mutants_survived}
        better = {**weak[0]["fields"], "assertions": list(suggestion.assertions)}
        _, after = await audited(engine, [{**weak[0], "fields": better}, weak[1]])
    assert "reference-fails" not in after["c0"].findings
    assert not set(suggestion.closes) & kinds(after["c0"])
    assert suggestion.closes


@pytest.mark.anyio
async def test_what_equals_an_answer_that_is_right_is_no_cheat(tmp_path: Path) -> None:
    async with engine_at(tmp_path) as engine:
        _, found = await audited(
            engine,
            cases(
                ask(
                    "Say it: Yes.",
                    "yes",
                    {"type": "icontains", "value": "yes"},
                    {"type": "word-count", "value": {"max": 2}},
                ),
                ask(
                    "Repeat after me: blue sky",
                    "blue sky",
                    {"type": "icontains", "value": "blue sky"},
                    {"type": "word-count", "value": {"max": 2}},
                ),
            ),
        )
    assert found["c0"].cheats_passed == ()
    assert found["c1"].cheats_passed == ()


@pytest.mark.anyio
async def test_what_passes_by_its_making_counts_only_where_it_lacks_what_the_reference_says(tmp_path: Path) -> None:
    long = "After 14 days the account is locked and the owner receives a letter by post."
    whole = {"type": "icontains-all", "value": ["After 14 days the account is locked and the owner receives a letter"]}
    async with engine_at(tmp_path) as engine:
        _, found = await audited(
            engine,
            cases(ask("What happens?", long, {"type": "icontains", "value": "letter"}), ask("And then?", long, whole)),
        )
    assert "keywords" in found["c0"].cheats_passed
    assert "keywords" not in found["c1"].cheats_passed
    assert "keywords" in found["c1"].cheats_shown


@pytest.mark.anyio
async def test_the_figures_are_those_of_the_cases_and_are_kept_with_their_digest(tmp_path: Path) -> None:
    suite = [
        *cases(
            ask("Which metal is liquid?", "mercury"),
            ask("How many legs has an ant?", "It has 6 legs.", equals("It has 6 legs.")),
        )
    ]
    benchmark = {"id": "b", "type": "benchmark", "fields": {"name": "b", "testCaseIds": ["c0", "c1"]}}
    async with engine_at(tmp_path) as engine:
        figures, found = await audited(engine, [*suite, benchmark])
        record: Record[Audit] = await audit_suite(engine, await subject_of(engine, "b"))
        await keep_audit(engine, record)
    assert figures.cheat_pass_rate == sum(bool(one.cheats_passed) for one in found.values()) / 2 == 0.5
    assert figures.mutation_score == figures.killed_count / figures.mutant_count == 1.0
    assert record.fields.digest == figures.digest == record.fields.covers["b"]


@pytest.mark.anyio
async def test_mutants_to_look_at_are_at_most_a_tenth_and_count_neither_way(tmp_path: Path) -> None:
    loose = [
        ask(f"Who is on stage {number}?", f"Ravel plays on stage {number}.", {"type": "icontains", "value": "plays"})
        for number in range(12)
    ]
    async with engine_at(tmp_path) as engine:
        figures, found = await audited(engine, cases(*loose), suggest=False)
    assert 0 < figures.look_count <= 0.1 * (figures.mutant_count + figures.look_count)
    assert any("name" in one.mutants_to_look for one in found.values())
    assert all("name" not in one.mutants_survived for one in found.values())


@pytest.mark.anyio
async def test_criteria_that_a_model_judges_are_left_out_and_named(tmp_path: Path) -> None:
    rubric = {
        "id": "r",
        "type": "rubric",
        "fields": {"name": "r", "criteriaIds": ["r/rule", "r/model"], "passingThreshold": 1.0},
    }
    rule = {
        "rubricId": "r",
        "name": "Greets",
        "weight": 0.5,
        "judgeType": "heuristic",
        "scoringGuide": "[{type: icontains, value: thank}]",
    }
    model = {"rubricId": "r", "name": "Helps", "weight": 0.5, "scoringGuide": "Does it help?"}
    parts = [
        {"id": "r/rule", "type": "rubric-criterion", "fields": rule},
        {"id": "r/model", "type": "rubric-criterion", "fields": model},
    ]
    case: Case = {**ask("May I come in?", "Thank you, do come in."), "rubricId": "r"}
    async with engine_at(tmp_path) as engine:
        figures, found = await audited(engine, [rubric, *parts, *cases(case)])
    assert found["c0"].cheats_passed == ("fixed",)
    assert "Helps: a model" in found["c0"].not_audited
    assert figures.not_audited_count == 1
    (by_rule,) = found["c0"].criteria
    assert (by_rule.criterion_id, "fixed" in by_rule.cheats_passed) == ("r/rule", True)


@pytest.mark.anyio
async def test_an_unknown_benchmark_and_one_without_active_cases_are_refused(tmp_path: Path) -> None:
    async with engine_at(tmp_path) as engine:
        with pytest.raises(NotFoundError):
            await subject_of(engine, "nowhere")
        with pytest.raises(BadInputError, match="no active test case"):
            await audited(engine, cases({**ask("?", "x"), "status": "draft"}))


async def test_without_a_reference_what_stops_the_cheats_is_suggested_and_said_not_to_be_tried_on_an_answer(
    tmp_path: Path,
) -> None:
    weak = cases(ask("Invent a slogan for oat milk.", None, {"type": "not-icontains", "value": "cow"}))
    async with engine_at(tmp_path) as engine:
        _, found = await audited(engine, weak)
        suggestion = found["c0"].suggestion
        assert suggestion is not None
        assert {"empty", "refusal", "echo", "injection"} <= {*suggestion.closes}
        assert "There is no correct answer to try it on" in suggestion.in_words
        better = {**weak[0]["fields"], "assertions": list(suggestion.assertions)}
        _, after = await audited(engine, [{**weak[0], "fields": better}])
    assert not set(suggestion.closes) & kinds(after["c0"])


async def test_an_output_of_several_keys_and_one_that_a_model_judges_too_have_suggestions(tmp_path: Path) -> None:
    several = {
        **ask("Route it.", {"queue": "billing", "note": "/^[a-z ]+$/"}),
        "assertions": [{"type": "icontains", "value": "queue"}],
    }
    graded = ask(
        "When is the fair?",
        "It opens on 12 June.",
        {"type": "icontains", "value": "opens"},
        {"type": "llm-rubric", "value": "Is it polite?"},
    )
    async with engine_at(tmp_path) as engine:
        _, found = await audited(engine, cases(several, graded))
    assert found["c0"].suggestion is not None
    assert [one["type"] for one in found["c0"].suggestion.added] == ["is-json"]
    assert found["c1"].suggestion is not None
    assert [one["type"] for one in found["c1"].suggestion.assertions][:2] == ["icontains", "llm-rubric"]


@pytest.mark.parametrize(
    "expected",
    [
        {"queue": "/^network$/", "priority": "/^(?:high|urgent)$/"},
        {"queue": "/^net.*$/", "priority": "/^h.{3}$/"},
    ],
)
async def test_several_expected_patterns_are_a_check_that_something_passes(tmp_path: Path, expected: Case) -> None:
    async with engine_at(tmp_path) as engine:
        _, found = await audited(
            engine, cases({**ask("Route it.", expected), "assertions": [], "passRule": "max_score"})
        )
    assert "never-passes" not in found["c0"].findings
    assert ("no-reference" in found["c0"].findings) == ("." in str(expected))


async def test_a_case_whose_checks_are_of_measures_alone_has_a_check_of_the_answer_suggested(tmp_path: Path) -> None:
    async with engine_at(tmp_path) as engine:
        fast = ask("Which warehouse serves Denmark?", "The one in Malmö.", {"type": "latency", "threshold": 5000})
        _, found = await audited(engine, cases(fast))
    assert found["c0"].suggestion is not None
    assert "empty" in found["c0"].suggestion.closes


async def test_every_hole_has_a_suggestion_or_says_what_to_do(tmp_path: Path) -> None:
    async with engine_at(tmp_path) as engine:
        for suite in weak_suites()[::3]:
            _, found = await audited(engine, suite.minions)
            untold = [one for one in found.values() if not one.is_sound and not (one.suggestion or one.unsuggested)]
            assert not untold, untold


async def test_a_long_answer_with_a_hole_is_audited_and_has_a_suggestion(tmp_path: Path) -> None:
    long = " ".join(f"Paragraph {number} of the report tells what was done in ward {number}." for number in range(90))
    async with engine_at(tmp_path) as engine:
        _, found = await audited(engine, cases(ask("Write the report.", long, {"type": "icontains", "value": "ward"})))
    assert "number" in found["c0"].mutants_survived
    assert found["c0"].suggestion is not None


@pytest.mark.parametrize(
    "idle",
    [
        {"type": "latency", "threshold": 1000},
        {"type": "icontains", "value": "iron", "weight": 0},
    ],
)
async def test_a_check_of_a_measure_or_without_weight_is_not_blamed_for_never_failing(
    tmp_path: Path, idle: Case
) -> None:
    async with engine_at(tmp_path) as engine:
        _, found = await audited(engine, cases(ask("Which element has the symbol Fe?", "iron", equals("iron"), idle)))
    assert found["c0"].is_sound


async def test_a_log_in_the_expected_output_is_mutated_although_the_text_stays_right(tmp_path: Path) -> None:
    log = [{"tool": "search", "arguments": {"q": "x"}}, {"tool": "book", "arguments": {"id": 7}}]
    used = {"type": "trajectory:tool-used", "value": "book"}
    async with engine_at(tmp_path) as engine:
        _, found = await audited(
            engine, cases(ask("Book it.", {"output": "Booked", "toolCallsLog": log}, used, equals("Booked")))
        )
    assert set(found["c0"].mutants_survived) == {"step", "argument"}


@pytest.mark.parametrize(
    ("checks", "survived"),
    [
        ([{"type": "trajectory:tool-used", "value": "book"}], {"argument"}),
        ([{"type": "trajectory:tool-args-match", "value": {"name": "book", "args": {"id": 7}}}], set[str]()),
        ([{"type": "trajectory:tool-used", "value": "book"}, {"type": "icontains", "value": "booked 7"}], set[str]()),
    ],
)
async def test_a_tool_that_was_used_alone_says_nothing_of_what_it_was_used_with(
    tmp_path: Path, checks: list[Case], survived: set[str]
) -> None:
    async with engine_at(tmp_path) as engine:
        _, found = await audited(engine, cases(ask("Book seat 7.", "Booked 7", *checks)))
    assert survived <= set(found["c0"].mutants_survived)
    assert ("argument" in found["c0"].mutants_survived) == bool(survived)
