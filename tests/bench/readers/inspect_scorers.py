"""How often our verdict is inspect-ai's: `python -m tests.bench.readers.inspect_scorers FOLDER …`, of logs that inspect-ai scored.

`PYTHON tests/bench/readers/inspect_logs.py FOLDER NUMBER SEED` writes such logs, with a Python that has inspect-ai.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.interop.logs.sample import LogSample
from minions_evals_mcp.scoring.assertions.table import check
from minions_evals_mcp.scoring.checks import Checked, Subject
from minions_evals_mcp.scoring.foreign.recorded import RecordedVerdict, verdict_of
from tests.shared.interop.makers import read


def outcomes(path: Path) -> Iterator[tuple[str, str]]:
    """Each score of the log: its scorer, and whether it was carried out, recorded, no verdict, or DIFFERS."""
    for sample in (item for item in read(path)[1] if isinstance(item, LogSample)):
        if sample.produced is None or sample.produced.error is not None:
            continue
        scores = {score.name: score.wire() for score in sample.produced.scores}
        for assertion in map(Assertion.model_validate, sample.assertions):
            value = obj(assertion.value)
            scorer = str(value["scorer"])
            recorded = verdict_of(scores.get(str(value.get("name") or scorer), {}))
            text = str(sample.produced.output or "")
            alone = check(assertion, Subject(text))
            ours = check(assertion, Subject(text, recorded_scores=tuple(scores.values())))
            same = (
                isinstance(ours, Checked)
                and isinstance(recorded, RecordedVerdict)
                and (ours.passed, round(ours.score, 4)) == (recorded.passed, round(recorded.score, 4))
            )
            if not isinstance(recorded, RecordedVerdict) and not isinstance(ours, Checked):
                yield scorer, "no verdict"
            else:
                yield scorer, "DIFFERS" if not same else "carried out" if isinstance(alone, Checked) else "recorded"


def main(folders: list[str]) -> None:
    """Prints the counts."""
    files = sorted(path for folder in folders for path in Path(folder).iterdir())
    counts = Counter(outcome for path in files for outcome in outcomes(path))
    differ = sum(number for (_, what), number in counts.items() if what == "DIFFERS")
    lines = [f"{len(files)} logs, {counts.total()} scores, {differ} differ"]
    lines += [f"  {scorer:20} {what:12} {number}" for (scorer, what), number in sorted(counts.items())]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
