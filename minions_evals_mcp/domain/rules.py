"""The hard rules of evaluation in words; `vetted.py` beside it holds the only functions that make the values which keep them."""

from __future__ import annotations

RULES: dict[str, str] = {
    "HR1": "Agent outputs are observed and scored, never modified.",
    "HR2": "No prompt version is approved without a benchmark-run that shows improvement.",
    "HR3": "Every failed test-run has its eval-failure.",
    "HR4": "Every judgment has a rationale.",
    "HR5": "Regressions are surfaced at once, not at the next schedule.",
}
EXCEPTIONS: dict[str, str] = {
    "HR1": "One exception: a secret that this process knows is scored as it came and kept as `[secret DIGEST]`; "
    "the event `secrets-marked` says which and how often.",
}
"""A secret is a key or token among the settings, or a value of at least 16 characters from a variable (of the environment
or of `.env`) whose name says key, token, secret or password; its digest is the first 8 digits of its SHA-256."""
