"""`db check`: every problem that it can name is made by tampering, and named."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.store.check import AT_MOST, check_store
from tests.shared.store.command_line import told
from tests.shared.store.small_store import raw
from tests.workshop import config_in, first, fleet, measured, opened

JUDGMENT = (
    "INSERT INTO eval_judgment (id, test_run_id, criterion_id, score, min_score, max_score, rationale, judged_by,"
    " judged_by_type, judged_at, confidence)"
)
RUN = (
    "INSERT INTO test_run (id, test_case_id, trial, outcome, passed, total_score, max_possible_score, judge_type, ran_at, rest)"
    " VALUES ('{}', 'c1', 1, 'scored', {}, 1, 1, 'llm', 0, '{{}}')"
)

MESSAGE = (
    "INSERT INTO inbox (id, state, reason, result, settled_at, type, topic, payload, sent_at, attempts, next_at)"
    " SELECT column1, column2, column3, column4, column5, 'run-benchmark', 'b', '{}', 0, 0, 0 FROM (VALUES"
)


def tamper(path: Path, *done: str) -> None:
    """Does what the triggers and checks forbid: they are taken away first and put back afterwards."""
    with raw(path) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        for statement in done:
            db.executescript(statement)
        for _, sql in triggers:
            db.execute(sql)
        db.commit()


PROBLEMS = [
    (
        "DELETE FROM eval_failure WHERE id = 'run1:3.1:failure'",
        ["HR3: the failed test-run run1:3.1 has no eval-failure"],
    ),
    (
        "INSERT INTO eval_failure (id, test_run_id, failure_type, severity, created_at, rest)"
        " VALUES ('stray', 'none', 'refusal', 'minor', 0, '{}')",
        [
            "reference: eval_failure row 6 refers to a missing test_run",
            "HR3: the eval-failure stray belongs to no test-run",
        ],
    ),
    (
        f"{JUDGMENT} VALUES ('stray', 'none', 'x', 1, 0, 1, 'said', 'me', 'llm', 0, 1)",
        ["reference: eval_judgment row 10 refers to a missing test_run", "the judgment stray belongs to no test-run"],
    ),
    (RUN.format("bare", 1), ["the test-run bare has no judgment"]),
    (
        "UPDATE benchmark_run SET total_count = 9 WHERE id = 'run1'",
        ["the benchmark-run run1 has wrong counts of its test-runs"],
    ),
    (
        "UPDATE benchmark_run SET passed_count = 1 WHERE id = 'run1'",
        ["the benchmark-run run1 has wrong counts of its test-runs"],
    ),
    (
        "UPDATE benchmark_run SET overall_score = 0.99 WHERE id = 'run2'",
        [
            "HR2: the benchmark-run run2 does not have the score of its test-runs",
            "HR2: the prompt-comparison better does not match the scores of its benchmark-runs",
        ],
    ),
    (
        "UPDATE prompt_comparison SET benchmark_run_id_b = 'none' WHERE id = 'unclear'",
        ["HR2: the prompt-comparison unclear does not match the scores of its benchmark-runs"],
    ),
    (
        "DELETE FROM outbox WHERE type = 'agent-message'",
        ["numbers: outbox does not continue from its last row, 1", "HR5: the regression in run3 was not told"],
    ),
    ("DELETE FROM outbox WHERE type = 'task'", ["HR5: the regression in run3 was not told"]),
    (
        "DELETE FROM eval_failure WHERE id = 'run3:regression'",
        ["numbers: eval_failure does not continue from its last row, 4", "HR5: the regression in run3 was not told"],
    ),
    (
        "UPDATE eval_failure SET failure_type = 'bad-luck' WHERE id = 'run3:regression'",
        ["the eval-failure run3:regression has a type unknown to this version"],
    ),
    (
        "UPDATE benchmark_run SET is_regression = 0 WHERE id = 'run3'",
        ["HR5: the benchmark-run run3 was notified as a regression but is not marked as one"],
    ),
    (
        "UPDATE prompt_comparison SET verdict = 'inconclusive' WHERE id = 'better'; UPDATE approval SET decided_by_type = 'agent'",
        ["HR2: the approval approved is not supported by its runs"],
    ),
    (
        "UPDATE prompt_comparison SET rest = json_set(rest, '$.pValue', 0.4, '$.deltaCi', json('[-0.2, 0.3]')) WHERE id = 'better'",
        ["HR2: the prompt-comparison better has the verdict improved, but its figures do not support it"],
    ),
    (
        "UPDATE event SET detail = json_object('verdict', 'regressed') WHERE seq = 1;"
        " UPDATE event SET type = 'prompt-comparison-recorded', subject_id = 'better' WHERE seq = 1",
        ["HR2: the prompt-comparison better had another verdict when it was written"],
    ),
    (
        "UPDATE event SET type = 'test-run-recorded', subject_id = 'run1:1.1', detail = json_object('passed', json('false')) WHERE seq = 1",
        ["HR1: the test-run run1:1.1 had another result when it was written"],
    ),
    (
        "UPDATE eval_failure SET benchmark_run_id = 'none', id = 'none:regression' WHERE id = 'run3:regression'",
        [
            "HR5: the regression in run3 was not told",
            "the eval-failure none:regression refers to a missing benchmark-run",
        ],
    ),
    (
        "UPDATE sqlite_sequence SET seq = 1 WHERE name = 'test_run'",
        ["numbers: test_run does not continue from its last row, 9"],
    ),
    (
        "DELETE FROM sqlite_sequence WHERE name = 'approval'",
        ["numbers: approval does not continue from its last row, 1"],
    ),
    ("INSERT INTO sqlite_sequence VALUES ('loose', 1)", ["numbers: there is no table loose"]),
    (
        "UPDATE delivery SET addressee = 'tasks'; UPDATE outbox SET addressee = 'tasks';"
        " UPDATE delivery SET state = 'delivered', settled_at = 1 WHERE seq = 2",
        ["HR5: the outbox row run3:task was skipped: a later one for the same addressee is settled"],
    ),
    (
        "UPDATE approval SET prompt_version_ref = 'p@3'",
        ["HR2: the approval approved has no comparison that its version wins"],
    ),
    (
        "UPDATE approval SET comparison_id = NULL",
        ["HR2: the approval approved has no comparison that its version wins"],
    ),
    (
        "INSERT INTO job VALUES ('lost', 'k', 'benchmark', 'bench', '{}', 'completed', '', '{}', 1, 0, 0)",
        ["the completed run lost has no benchmark-run"],
    ),
    ("UPDATE unit SET test_run_id = 'none'", ["the unit job:0.1 refers to a missing test-run"]),
    (
        "UPDATE delivery SET addressee = 'nobody' WHERE seq = (SELECT seq FROM outbox WHERE type = 'task')",
        ["HR5: the outbox row run3:task has no addressee"],
    ),
    (f"{MESSAGE} ('m', 'pending', '', NULL, 1))", ["the message m is both settled and pending"]),
    (f"{MESSAGE} ('m', 'dead', ' ', NULL, 1))", ["the message m is dead without a reason"]),
    (f"{MESSAGE} ('m', 'done', '', NULL, 1))", ["the message m is done without a result"]),
    ("INSERT INTO agent_cursor VALUES ('events', 9999)", ["the agent's position is beyond the last event: 9999"]),
    (
        "UPDATE eval_judgment SET rationale = ' ' WHERE seq = 1",
        ["HR4: the judgment run1:1.1:j:rubric/tone has no rationale"],
    ),
    (
        "UPDATE eval_judgment SET rationale = replace(hex(zeroblob(40)), '0', char(8203)) WHERE seq = 1",
        ["HR4: the judgment run1:1.1:j:rubric/tone has no rationale"],
    ),
    (
        "UPDATE eval_judgment SET score = 1.5 WHERE seq = 1",
        ["HR4: the judgment run1:1.1:j:rubric/tone is outside its range"],
    ),
    (
        "UPDATE eval_judgment SET confidence = -1 WHERE seq = 1",
        ["HR4: the judgment run1:1.1:j:rubric/tone is outside its range"],
    ),
    (
        "UPDATE eval_judgment SET rationale = char(769) WHERE seq = 2",
        ["HR4: the judgment run1:2.1:j:rubric/tone has no rationale"],
    ),
]


@pytest.mark.parametrize(("done", "problems"), PROBLEMS)
async def test_what_was_tampered_with_is_named(small_store: Path, done: str, problems: list[str]) -> None:
    assert (await check_store(small_store)).problems == ()
    tamper(small_store, done)
    assert list((await check_store(small_store)).problems) == problems


async def test_the_failures_of_a_run_under_way_and_of_one_without_a_regression_are_no_problem(
    small_store: Path,
) -> None:
    tamper(small_store, "UPDATE eval_failure SET benchmark_run_id = 'run1' WHERE id = 'run1:3.1:failure'")
    assert (await check_store(small_store)).problems == ()
    tamper(small_store, "UPDATE eval_failure SET benchmark_run_id = 'not yet' WHERE id = 'run1:3.1:failure'")
    assert (await check_store(small_store)).problems == ()


async def test_a_missing_event_is_told_with_how_many(small_store: Path) -> None:
    tamper(small_store, "DELETE FROM event WHERE seq IN (3, 5)")
    with raw(small_store) as db:
        rows, last = db.execute("SELECT count(*), max(seq) FROM event").fetchone()
    assert (await check_store(small_store)).problems == (
        f"events: {rows} rows, but the last has number {last}: 2 are missing",
    )


async def test_a_judgment_written_twice_is_named(small_store: Path) -> None:
    with raw(small_store) as db:
        made: str = db.execute("SELECT sql FROM sqlite_schema WHERE name = 'eval_judgment'").fetchone()[0]
    unique = "UNIQUE (test_run_id, criterion_id),"
    assert unique in made
    loose = made.replace(unique, "").replace("TABLE eval_judgment", "TABLE loose")
    tamper(
        small_store,
        loose,
        "INSERT INTO loose SELECT * FROM eval_judgment",
        "DROP TABLE eval_judgment",
        "ALTER TABLE loose RENAME TO eval_judgment",
        f"{JUDGMENT} SELECT 'twice', test_run_id, criterion_id, 1, 0, 1, 'again', 'me', 'llm', 0, 1 FROM eval_judgment WHERE seq = 1",
    )
    assert (await check_store(small_store)).problems == (
        "schema: the index eval_judgment_people is missing",
        "schema: the table eval_judgment is different from the expected definition",
        "the judgment run1:1.1:j:rubric/tone is written twice",
    )


def made(path: Path, kind: str) -> list[str]:
    """The names of everything of that kind that the migrations leave in a store."""
    with raw(path) as db:
        found = db.execute("SELECT name FROM sqlite_schema WHERE type = ? AND sql IS NOT NULL", (kind.lower(),))
        return [name for (name,) in found]


@pytest.mark.parametrize("kind", ["TRIGGER", "INDEX"])
async def test_everything_that_is_missing_from_the_schema_is_named(small_store: Path, kind: str) -> None:
    names = made(small_store, kind)
    assert len(names) > 10
    with raw(small_store) as db:
        for name in names:
            db.execute(f"DROP {kind} {name}")
        db.commit()
    wanted = [f"schema: the {kind.lower()} {name} is missing" for name in sorted(names)]
    assert list((await check_store(small_store)).problems) == wanted


async def test_a_trigger_that_was_made_toothless_is_named(small_store: Path) -> None:
    with raw(small_store) as db:
        db.execute("DROP TRIGGER HR1_test_run_update")
        db.execute("CREATE TRIGGER HR1_test_run_update BEFORE UPDATE ON test_run BEGIN SELECT 1; END")
        db.commit()
    assert (await check_store(small_store)).problems == (
        "schema: the trigger HR1_test_run_update is different from the expected definition",
    )


@pytest.mark.parametrize(
    ("foreign", "named"),
    [
        ("TRIGGER spy AFTER INSERT ON test_run BEGIN UPDATE job SET reason = 'x'; END", "trigger spy"),
        ("VIEW test_runs AS SELECT * FROM test_run", "view test_runs"),
        ("TABLE loot (a)", "table loot"),
        ("INDEX slow ON test_run (rest)", "index slow"),
    ],
)
async def test_what_is_not_ours_in_the_schema_is_named(small_store: Path, foreign: str, named: str) -> None:
    with raw(small_store) as db:
        db.execute(f"CREATE {foreign}")
    assert (await check_store(small_store)).problems == (f"schema: the {named} is unexpected",)


async def test_a_broken_reference_is_named(small_store: Path) -> None:
    with raw(small_store) as db:
        db.execute("INSERT INTO agent_run_key VALUES ('none', '', 'agent', NULL, 0)")
        db.commit()
    (problem,) = (await check_store(small_store)).problems
    assert problem.startswith("reference: agent_run_key row ")
    assert problem.endswith("refers to a missing minion")


async def test_a_flood_of_one_problem_is_cut_and_does_not_hide_another(small_store: Path) -> None:
    tamper(small_store, *(RUN.format(f"bare{number:02}", 0) for number in range(AT_MOST + 5)))
    problems = (await check_store(small_store)).problems
    assert len([one for one in problems if one.startswith("HR3")]) == AT_MOST
    assert len([one for one in problems if one.endswith("has no judgment")]) == AT_MOST


async def test_the_command_line_counts_what_it_looked_at_and_exits_with_3_on_a_problem(small_store: Path) -> None:
    said = await told(small_store.parent, "db", "check", "--db", str(small_store))
    assert (said.code, said.err) == (0, "")
    assert ": ok (" in said.out
    assert "9 test-run" in said.out
    tamper(small_store, "DELETE FROM eval_failure WHERE id = 'run1:3.1:failure'")
    said = await told(small_store.parent, "db", "check", "--db", str(small_store))
    assert said.code == 3
    assert "problem: HR3: the failed test-run run1:3.1 has no eval-failure" in said.out
    said = await told(small_store.parent, "db", "check", "--json", "--db", str(small_store))
    assert said.code == 3
    assert '"ok": false' in said.out


async def test_runs_with_failures_and_a_regression_are_clean_as_the_engine_writes_them(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 8)
        await measured(engine, "v1", first(7, 8))
        await measured(engine, "v2", first(1, 8))
        await measured(engine, "v3", first(6, 8))
    assert (await check_store(engine.config.db, deep=True)).problems == ()
