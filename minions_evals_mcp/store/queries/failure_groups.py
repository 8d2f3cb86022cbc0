"""The groups of failed test-runs, with what their cases are tagged."""

from __future__ import annotations

import json
from collections.abc import Sequence

from minions_evals_mcp.domain.failing.failure_types import FailureType
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store.connection import Db


@frozen_type
class FailedRunRow:
    """One failed test-run: how it failed, which criteria it missed, and the tags of its case."""

    test_run_id: str
    test_case_id: str
    failure_type: FailureType
    criteria: tuple[str, ...]
    tags: tuple[str, ...]


def causes(db: Db, test_run_ids: Sequence[str]) -> list[FailedRunRow]:
    """The causes of those test-runs, in the order in which they failed."""
    rows = db.execute(
        "SELECT r.id, r.test_case_id, f.failure_type, coalesce(json_extract(f.rest, '$.affectedCriterionIds'), '[]'),"
        " coalesce(json_extract(m.fields, '$.tags'), '[]'), coalesce(m.tags, '[]')"
        " FROM test_run r JOIN eval_failure f ON f.test_run_id = r.id AND f.id = r.id || ':failure'"
        " LEFT JOIN minion m ON m.id = r.test_case_id"
        " WHERE r.id IN (SELECT value FROM json_each(?)) ORDER BY r.seq",
        (json.dumps(list(test_run_ids)),),
    )
    return [
        FailedRunRow(
            run_id, case_id, kind, tuple(json.loads(criteria)), tuple(dict.fromkeys(json.loads(own) + json.loads(tags)))
        )
        for run_id, case_id, kind, criteria, own, tags in rows
    ]
