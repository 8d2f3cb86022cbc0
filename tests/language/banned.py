"""Phrases that readers of this field had to guess, and what to write instead."""

from __future__ import annotations

import re

BANNED: dict[str, str] = {
    r"more than chance would": "statistically significant",
    r"which can be chance|can be chance": "not significant",
    r"\bfor sure\b": "a confidence interval",
    r"measured alike|not alike": "comparable, not comparable",
    r"no room here for": "hidden columns",
    r"^judged are\b|^read are\b|\. judged are\b|\. read are\b": "judges the recorded outputs",
    r"touch with a worker|time without company": "contact with a worker",
    r"columns of a config": "prompt and provider combinations",
    r"than luck|luck does not": "statistically significant",
    r"as the (?:gates|gate) holds?|the gates hold\b|gates may hold|that held\b": "gates passed, the last passing run",
    r"shown again: nothing was run": "cached result",
    r"stands twice|comes twice": "duplicate",
    r"of no known form": "unsupported format",
    r"is no NAME=VALUE": "expected NAME=VALUE",
    r"\bNot kept\b": "not saved",
    r"go(?:es)? on with:": "resume with",
    r"so many cases at once": "maximum number of cases run in parallel",
    r"how manyth|how sure one may|no model to ask|to be had\b": "the field's term",
    r"who speaks\b|at every door|every door\b": "identity, every interface",
    r"instrument failed|error of the instrument|errors of the instrument": "an infrastructure error",
    r"its wording before|the wording before|wording of before": "the previous version of this prompt",
    r"whatever chance can do|than chance\b": "statistically significant",
    r"of one's own|of its own accord": "your own",
    r"a failure's whole story|fallen run|failing runs? fell": "failure details, regressed run",
    r"\b(?:the|a|an|each|one|out|on|in|next|of|its|these) packets?\b|\bpackets? (?:that|are|wait|whole|below)\b": "judgment request",
    r"look in with\b": "poll with",
    r"is seen from what it holds|seen from what": "detected from the content",
    r"\bTells (?:how|whether|a|which)\b": "Returns",
    r"for whoever|for who (?:works|runs)\b": "for people who",
    r"python -m tests\.bench": "a figure in the development pages",
    r"in a way of its own": "differently",
}
ALLOWED_IN_DEVELOPMENT = frozenset({r"python -m tests\.bench"})
"""What pages for contributors may have."""
PHRASES = {re.compile(phrase, re.IGNORECASE): instead for phrase, instead in BANNED.items()}
