"""The hard rules of evaluation in words; `vetted.py` beside it holds the only functions that make the values which keep them."""

from __future__ import annotations

RULES: dict[str, str] = {
    "HR1": "Agent outputs are observed and scored, never modified.",
    "HR2": "No prompt version is approved without a benchmark-run that shows improvement.",
    "HR3": "Every failed test-run has its eval-failure.",
    "HR4": "Every judgment has a rationale.",
    "HR5": "Regressions are surfaced at once, not at the next schedule.",
}
