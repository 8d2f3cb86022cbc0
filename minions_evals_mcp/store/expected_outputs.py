"""The expectations of cases before they were edited, for the likeness of earlier runs that is measured when they are first read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from minions_evals_mcp.domain.digests import json_text
from minions_evals_mcp.domain.outcomes import Expected
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.store.connection import Db, insert_rows


def expected_outputs(db: Db, case_digests: Iterable[str]) -> dict[str, Expected]:
    """Returns what was expected under those digests of cases, as far as it is kept."""
    rows = db.execute(
        "SELECT case_digest, outputs, patterns FROM expected WHERE case_digest IN (SELECT value FROM json_each(?))",
        (json.dumps(list(case_digests)),),
    )
    return {digest: Expected(json.loads(outputs), bool(patterns)) for digest, outputs, patterns in rows}


def keep_expected(db: Db, wanted: Mapping[str, Expected]) -> None:
    """Keeps what was expected under those digests, once each."""
    known = expected_outputs(db, wanted)
    insert_rows(
        db,
        "expected",
        [
            (digest, masked(json_text(expected.outputs)), int(expected.patterns))
            for digest, expected in wanted.items()
            if digest not in known
        ],
    )
