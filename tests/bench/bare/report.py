"""The floor of a report of two runs: the same rows read with the standard library, their differences, one jinja2 template.

python -m tests.bench.bare.report STORE OUT.html BEFORE AFTER
"""

from __future__ import annotations

import json
import sqlite3  # noqa: TID251  the floor reads with the standard library
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jinja2 import Environment

ROWS = """
SELECT r.test_case_id, m.title, m.fields, r.passed, r.total_score / r.max_possible_score, r.rest, f.failure_type, f.rest,
       (SELECT json_group_array(json_array(j.criterion_id, j.score, j.rationale)) FROM eval_judgment j WHERE j.test_run_id = r.id)
FROM test_run r JOIN job ON job.id = r.benchmark_run_id LEFT JOIN minion m ON m.id = r.test_case_id
LEFT JOIN eval_failure f ON f.id = r.id || ':failure' WHERE job.key = ?
"""
PAGE = """<!doctype html><title>{{ title }}</title><h1>{{ title }}</h1>
<p>{{ worse }} worse, {{ better }} better of {{ cases|length }}</p>
{% for case in cases %}<details><summary>{{ case.title }} {{ case.kind }} {{ case.before }} {{ case.after }}</summary>
<pre>{{ case.inputs }}</pre>
{% for side in case.sides %}<pre>{{ side.output }}</pre><p>{{ side.failure }} {{ side.why }}</p>
<ul>{% for name, score, why in side.judged %}<li>{{ name }}: {{ score }}, {{ why }}</li>{% endfor %}</ul>
{% endfor %}</details>
{% endfor %}"""


def sides(db: sqlite3.Connection, run: str) -> dict[str, dict[str, Any]]:
    """The cases of the run by id."""
    return {row[0]: _side(row) for row in db.execute(ROWS, (run,))}


def _side(row: tuple[Any, ...]) -> dict[str, Any]:
    _, title, fields, passed, score, rest, failure, told, judged = row
    made = json.loads(rest)
    return {
        "title": title,
        "inputs": json.dumps(json.loads(fields)["inputs"]),
        "passed": passed,
        "score": score,
        "output": json.dumps(made["actualOutput"]),
        "failure": failure or "",
        "why": json.loads(told)["description"] if told else "",
        "judged": [(name, points, why) for name, points, why in json.loads(judged)],
    }


def compared(then: dict[str, dict[str, Any]], now: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The cases of both, each with what became of it."""
    for ident, after in now.items():
        before = then[ident]
        delta = after["score"] - before["score"]
        kind = "worse" if delta < 0 else "better" if delta > 0 else "same"
        yield {
            "title": after["title"], "inputs": after["inputs"], "kind": kind, "delta": delta, "before": before["score"],
            "after": after["score"], "sides": [before, after],
        }  # fmt: skip


def main() -> None:
    _, store, out, before, after = sys.argv
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    cases = sorted(compared(sides(db, before), sides(db, after)), key=lambda case: case["delta"])
    kinds = [case["kind"] for case in cases]
    page = Environment(autoescape=True).from_string(PAGE)
    text = page.render(title=after, cases=cases, worse=kinds.count("worse"), better=kinds.count("better"))
    Path(out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
