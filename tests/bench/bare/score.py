"""The floor of `score`: the same checks in a bare Python loop, a JSON row in and a JSON row out.

python -m tests.bench.bare.score < ROWS.jsonl > VERDICTS.jsonl
"""

from __future__ import annotations

import json
import re
import sys

PATTERN = re.compile(r"REF-\d{6}")


def main() -> None:
    for line in sys.stdin:
        row = json.loads(line)
        output = row["output"]
        wanted = row["assert"][0]["value"]
        try:
            json.loads(output)
            is_json = True
        except ValueError:
            is_json = False
        found = [("contains", wanted in output), ("regex", PATTERN.search(output) is not None), ("is-json", is_json)]
        results = [
            {"type": kind, "pass": passed, "score": float(passed), "reason": f"{kind}: {'yes' if passed else 'no'}"}
            for kind, passed in found
        ]
        score = sum(passed for _, passed in found) / len(found)
        verdict = {"id": row["id"], "pass": all(passed for _, passed in found), "score": score, "results": results}
        sys.stdout.write(json.dumps(verdict) + "\n")


if __name__ == "__main__":
    main()
