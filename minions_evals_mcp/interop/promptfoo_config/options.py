"""A config's options of running, and where its results are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from minions_evals_mcp.interop.promptfoo_config.own_settings import OwnSettings, read_own_settings
from minions_evals_mcp.interop.promptfoo_config.source.reading import Node
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals

KEYS = ("repeat", "maxConcurrency", "delay", "timeoutMs", "maxEvalTimeMs", "cache", "showProgressBar")
"""Of these, `cache` and `showProgressBar` change no result: what was answered is kept under the evaluation's key."""
HARMLESS = {
    "runSerially": "the order of tests bears on no verdict",
    "generateSuggestions": "no suggestions are made",
    "silent": "it bears on what is printed",
    "interactiveProviders": "calls are made by limits of our own",
}
HARMLESS_ON_A_LINE = {
    "verbose": "it bears on what is printed",
    "table": "it bears on what is printed",
    "tableCellMaxLength": "it bears on what is printed",
    "progressBar": "it bears on what is printed",
    "write": "results are kept in the store",
    "share": "nothing is shared",
    "cache": "what was answered is kept under the evaluation's key",
}
"""Of `commandLineOptions`, the ones that change no result."""
_CAPITAL = re.compile("([A-Z])")
UNSET = OwnSettings()
WRITTEN = (".json", ".jsonl", ".csv", ".html", ".md", ".xml", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """`evaluateOptions` and `outputPath`."""

    trials: int = 1
    concurrency: int | None = None
    delay_s: float = 0.0
    timeout_ms: int | None = None
    max_seconds: float | None = None
    output_paths: tuple[str, ...] = ()
    settings: OwnSettings = UNSET


def read_options(root: Mapping[str, Node], refusals: Refusals, variables: Mapping[str, str]) -> EvaluateOptions:
    """The options, the config's before those of the environment; with a delay one call is made at a time."""
    settings = read_own_settings(variables, refusals)
    members = refusals.known(root["evaluateOptions"], KEYS, harmless=HARMLESS) if "evaluateOptions" in root else {}
    members |= _on_a_line(root, refusals)
    whole = {key: members[key].whole(least=0) for key in KEYS[:5] if key in members}
    delay = whole.get("delay", settings.delay_ms)
    max_eval_ms = whole.get("maxEvalTimeMs", settings.max_eval_ms)
    return EvaluateOptions(
        trials=whole.get("repeat") or 1,
        concurrency=1 if delay else whole.get("maxConcurrency") or None,
        delay_s=delay / 1000,
        timeout_ms=whole.get("timeoutMs", settings.timeout_ms) or None,
        max_seconds=max_eval_ms / 1000 if max_eval_ms else None,
        output_paths=tuple(_paths(root, refusals)),
        settings=settings,
    )


def _on_a_line(root: Mapping[str, Node], refusals: Refusals) -> dict[str, Node]:
    """What `commandLineOptions` sets of the options of running; what else changes a result is refused with its option."""
    if "commandLineOptions" not in root:
        return {}
    members = root["commandLineOptions"].mapping()
    for name in HARMLESS_ON_A_LINE.keys() & members.keys():
        refusals.note(members.pop(name), HARMLESS_ON_A_LINE[name])
    taken = {name: members.pop(name) for name in KEYS[:3] if name in members}
    for name, node in members.items():
        option = _CAPITAL.sub(r"-\1", name).lower()
        refusals.add(node, f"pass --{option} on the command line")
    return taken


def _paths(root: Mapping[str, Node], refusals: Refusals) -> list[str]:
    node = root.get("outputPath")
    if node is None:
        return []
    named = node.elements() if isinstance(node.value, list) else [node]
    for path_node in named:
        if not path_node.text().lower().endswith(WRITTEN):
            refusals.note(path_node, f"only files of {' and '.join(WRITTEN)} are written: name one with -o")
    return [node.text() for node in named if node.text().lower().endswith(WRITTEN)]
