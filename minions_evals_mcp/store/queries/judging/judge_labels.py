"""The labels of people and judges on the same outputs by one criterion, and which judges a run rests on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store.connection import Db

_IMPLICIT = "implicit:%"


def is_label(of: str) -> str:
    """Returns whether the judgment of that alias is a person's: one that was imported only where a person imported it."""
    handed_in = f"coalesce({of}.handed_in_by, iif({of}.origin IS 'imported', 'agent', 'person:'))"
    return f"({of}.judged_by_type = 'human' AND {handed_in} GLOB 'person:*')"


@frozen_type
class JudgeKey:
    """A judge: who it is, with which prompt and settings (its digest), by which rubric."""

    judged_by: str
    judge: str
    rubric: str

    @property
    def digest(self) -> str:
        """The digest of model, prompt, rubric and criterion: a change of any is another judge."""
        return digest([self.judged_by, self.judge, self.rubric])


@frozen_type
class LabelledJudgment:
    """One judgment. Equal `output`: the same output of the same case. `score` is a share of the range."""

    output: tuple[str, str]
    by_person: bool
    key: JudgeKey
    score: float
    confidence: float | None
    seq: int


_COLUMNS = (
    "r.test_case_id, coalesce(json_extract(r.rest, '$.digests.testCase'), ''), json_extract(r.rest, '$.actualOutput'),"
    f" {is_label('j')}, j.judged_by, coalesce(json_extract(r.rest, '$.digests.judge'), ''),"
    " coalesce(json_extract(r.rest, '$.digests.rubric'), ''), (j.score - j.min_score) / (j.max_score - j.min_score),"
    " j.confidence, j.seq"
)


def judged_outputs(db: Db, criterion_id: str) -> list[LabelledJudgment]:
    """All that people and judges said by that criterion of outputs of the cases that people labelled, oldest first."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM test_run r JOIN eval_judgment j ON j.test_run_id = r.id AND j.criterion_id = ?1"
        " WHERE j.judged_by_type <> 'heuristic' AND r.test_case_id IN (SELECT l.test_case_id FROM eval_judgment p"
        f" JOIN test_run l ON l.id = p.test_run_id WHERE p.criterion_id = ?1 AND {is_label('p')}) ORDER BY j.seq",
        (criterion_id,),
    )
    return [
        LabelledJudgment(
            (case, digest([by, json.loads(output)])), bool(person), JudgeKey(who, judge, rubric), score, sure, seq
        )
        for case, by, output, person, who, judge, rubric, score, sure, seq in rows
    ]


def judges_of_runs(db: Db, run_ids: Sequence[str]) -> list[tuple[str, JudgeKey]]:
    """The criteria by which models or callers judged in those runs, each with its judge; implicit criteria as one, `""`."""
    rows = db.execute(
        "SELECT DISTINCT iif(j.criterion_id LIKE ?2, '', j.criterion_id), j.judged_by,"
        " iif(j.criterion_id LIKE ?2, '', coalesce(json_extract(r.rest, '$.digests.judge'), '')),"
        " iif(j.criterion_id LIKE ?2, '', coalesce(json_extract(r.rest, '$.digests.rubric'), ''))"
        " FROM test_run r JOIN eval_judgment j ON j.test_run_id = r.id"
        " WHERE r.benchmark_run_id IN (SELECT value FROM json_each(?1)) AND j.judged_by_type = 'llm' ORDER BY 1, 2, 3, 4",
        (json.dumps(list(run_ids)), _IMPLICIT),
    )
    return [(criterion, JudgeKey(who, judge, rubric)) for criterion, who, judge, rubric in rows]


def models_of_labelled(db: Db, criterion_id: str, key: JudgeKey) -> set[str]:
    """The models that answered for that judge on the outputs that people labelled by that criterion, as far as their replies name them."""
    rows = db.execute(
        "SELECT DISTINCT r.rest ->> '$.answeredBy' AS model FROM eval_judgment p JOIN test_run l ON l.id = p.test_run_id"
        " JOIN test_run r ON r.test_case_id = l.test_case_id AND r.rest ->> '$.actualOutput' = l.rest ->> '$.actualOutput'"
        " JOIN eval_judgment j ON j.test_run_id = r.id AND j.criterion_id = ?1 AND j.judged_by = ?2"
        f" WHERE p.criterion_id = ?1 AND {is_label('p')} AND r.rest ->> '$.digests.judge' IS ?3"
        " AND r.rest ->> '$.digests.rubric' IS ?4 AND model IS NOT NULL",
        (criterion_id, key.judged_by, key.judge or None, key.rubric or None),
    )
    return {row[0] for row in rows}


def models_of_runs(db: Db, run_ids: Sequence[str]) -> set[str]:
    """The models that answered for the judges of those benchmark-runs, as far as their replies name them."""
    rows = db.execute(
        "SELECT DISTINCT rest ->> '$.answeredBy' AS model FROM test_run"
        " WHERE benchmark_run_id IN (SELECT value FROM json_each(?)) AND model IS NOT NULL",
        (json.dumps(list(run_ids)),),
    )
    return {row[0] for row in rows}


def judged_criteria(db: Db, benchmark_id: str) -> list[str]:
    """The criteria by which a model, a caller or a person judged in any run of the benchmark."""
    rows = db.execute(
        "SELECT DISTINCT e.criterion_id FROM job j JOIN test_run r ON r.benchmark_run_id = j.id"
        " JOIN eval_judgment e ON e.test_run_id = r.id WHERE j.kind = 'benchmark' AND j.subject_id = ?"
        " AND e.judged_by_type <> 'heuristic' AND e.criterion_id NOT LIKE ? ORDER BY 1",
        (benchmark_id, _IMPLICIT),
    )
    return [row[0] for row in rows]


def probed(db: Db, criterion_id: str, judge_digest: str) -> list[tuple[str, int, int]]:
    """For each probe of that judge on that criterion: its name, the outputs, and those it got wrong."""
    return db.execute(
        "SELECT probe, count(*), sum(wrong) FROM probe_verdict WHERE criterion_id = ? AND judge_digest = ? GROUP BY probe ORDER BY probe",
        (criterion_id, judge_digest),
    ).fetchall()


@frozen_type
class ProbeVerdict:
    """The judge's answer to a probe: `said` holds the text, the score, the rationale and what was expected."""

    judge_digest: str
    criterion_id: str
    probe: str
    subject: str
    wrong: bool
    said: str


def save_probe(db: Db, verdict: ProbeVerdict, *, at: int) -> None:
    """Keeps the verdict on a probe; the first one stays."""
    db.execute(
        "INSERT INTO probe_verdict (judge_digest, criterion_id, probe, subject, wrong, said, judged_at)"
        " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS (SELECT 1 FROM probe_verdict WHERE judge_digest = ?1"
        " AND criterion_id = ?2 AND probe = ?3 AND subject = ?4)",
        (
            verdict.judge_digest, verdict.criterion_id, verdict.probe, verdict.subject, int(verdict.wrong), verdict.said, at,
        ),
    )  # fmt: skip


def probes_kept(db: Db, judge_digest: str, criterion_id: str) -> list[ProbeVerdict]:
    """The verdicts on probes of that judge by that criterion, oldest first."""
    rows = db.execute(
        "SELECT probe, subject, wrong, said FROM probe_verdict WHERE judge_digest = ? AND criterion_id = ? ORDER BY seq",
        (judge_digest, criterion_id),
    )
    return [
        ProbeVerdict(judge_digest, criterion_id, probe, subject, bool(wrong), verdict)
        for probe, subject, wrong, verdict in rows
    ]


@frozen_type
class JudgedRunOutput:
    """One output of a run as it was judged there. Equal `output`: the same output of the same case."""

    test_case_id: str
    output: tuple[str, str]
    passed: bool
    confidence: float | None


def run_outputs(db: Db, run_id: str) -> list[JudgedRunOutput]:
    """The outputs of a benchmark-run, each with the least confidence of its judges; None where one of them told none.

    An output that no model or caller judged is certain.
    """
    rows = db.execute(
        "SELECT r.test_case_id, coalesce(json_extract(r.rest, '$.digests.testCase'), ''), json_extract(r.rest, '$.actualOutput'),"
        " r.passed, (SELECT json_array(count(*), count(confidence), min(confidence)) FROM eval_judgment j"
        " WHERE j.test_run_id = r.id AND j.judged_by_type = 'llm')"
        " FROM test_run r WHERE r.benchmark_run_id = ? ORDER BY r.seq",
        (run_id,),
    )
    return [
        JudgedRunOutput(case, (case, digest([by, json.loads(output)])), bool(passed), _least(*json.loads(sure)))
        for case, by, output, passed, sure in rows
    ]


def _least(judged: int, told: int, least: float | None) -> float | None:
    """The least confidence of those who judged: of rules alone 1, of somebody who told none unknown."""
    if judged == 0:
        return 1.0
    return least if told == judged else None


def people_runs(db: Db, benchmark_id: str) -> Iterator[tuple[str, str]]:
    """The runs of the benchmark whose outputs people judge: id, and what was asked for as JSON; oldest first."""
    yield from db.execute(
        "SELECT id, spec FROM job WHERE kind = 'benchmark' AND subject_id = ?"
        " AND json_extract(spec, '$.request.judge') = 'human' ORDER BY created_at, id",
        (benchmark_id,),
    )


def newest_judged_run(db: Db, ident: str) -> str | None:
    """The benchmark-run under that id, or the newest of the benchmark under it, in which a model or caller judged by a rubric."""
    row = db.execute(
        "SELECT b.id FROM benchmark_run b WHERE (b.id = ?1 OR b.benchmark_id = ?1) AND EXISTS (SELECT 1 FROM test_run r"
        " JOIN eval_judgment j ON j.test_run_id = r.id WHERE r.benchmark_run_id = b.id AND j.judged_by_type = 'llm'"
        " AND j.criterion_id NOT LIKE ?2) ORDER BY b.seq DESC LIMIT 1",
        (ident, _IMPLICIT),
    ).fetchone()
    return None if row is None else row[0]


@frozen_type
class JudgedText:
    """An output of a run with the share of a criterion's range that its judge gave it."""

    test_run_id: str
    test_case_id: str
    output: Json
    score: float


def judged_texts(db: Db, run_id: str, criterion_id: str, key: JudgeKey) -> list[JudgedText]:
    """The outputs of the run's first trial that the judge scored by that criterion."""
    rows = db.execute(
        "SELECT r.id, r.test_case_id, json_extract(r.rest, '$.actualOutput'), (j.score - j.min_score) / (j.max_score - j.min_score)"
        " FROM test_run r JOIN eval_judgment j ON j.test_run_id = r.id AND j.criterion_id = ?"
        " WHERE r.benchmark_run_id = ? AND r.trial = 1 AND j.judged_by = ? AND json_extract(r.rest, '$.digests.judge') = ?"
        " AND json_extract(r.rest, '$.digests.rubric') = ? ORDER BY r.test_case_id",
        (criterion_id, run_id, key.judged_by, key.judge, key.rubric),
    )
    return [JudgedText(ident, case, json.loads(output), score) for ident, case, output, score in rows]
