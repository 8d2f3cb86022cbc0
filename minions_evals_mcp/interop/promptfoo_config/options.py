"""How a config wants to be run, and what all its tests must agree on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.interop.promptfoo_config.reading import Node
from minions_evals_mcp.interop.promptfoo_config.refusal import Refusals
from minions_evals_mcp.interop.promptfoo_config.tests import Test
from minions_evals_mcp.models.registry import parse_model

KEYS = ("repeat", "maxConcurrency", "delay", "timeoutMs", "maxEvalTimeMs", "cache", "showProgressBar")
"""Of these, `cache` and `showProgressBar` change no result: what was answered is kept under the evaluation's key."""
WRITTEN = (".json", ".csv")


@dataclass(frozen=True, slots=True)
class Options:
    """`evaluateOptions` and `outputPath`."""

    trials: int = 1
    concurrency: int | None = None
    delay_s: float = 0.0
    timeout_ms: int | None = None
    max_seconds: float | None = None
    output_paths: tuple[str, ...] = ()


def read_options(root: Mapping[str, Node], refusals: Refusals) -> Options:
    """The options; with a delay one call is made at a time."""
    found = refusals.known(root["evaluateOptions"], KEYS) if "evaluateOptions" in root else {}
    whole = {key: found[key].whole(least=0) for key in KEYS[:5] if key in found}
    delay = whole.get("delay", 0)
    return Options(
        trials=whole.get("repeat") or 1,
        concurrency=1 if delay else whole.get("maxConcurrency") or None,
        delay_s=delay / 1000,
        timeout_ms=whole.get("timeoutMs") or None,
        max_seconds=whole["maxEvalTimeMs"] / 1000 if whole.get("maxEvalTimeMs") else None,
        output_paths=tuple(_paths(root, refusals)),
    )


def _paths(root: Mapping[str, Node], refusals: Refusals) -> list[str]:
    node = root.get("outputPath")
    if node is None:
        return []
    named = node.elements() if isinstance(node.value, list) else [node]
    for one in named:
        if not one.text().lower().endswith(WRITTEN):
            refusals.add(one, f"only files of {' and '.join(WRITTEN)} are written")
    return [one.text() for one in named if one.text().lower().endswith(WRITTEN)]


def shared_option(name: str, tests: Sequence[Test], refusals: Refusals) -> str | None:
    """What all tests have under that option (in effect `defaultTest`); a test that differs from the first is refused by name."""
    found = [test.options.get(name) for test in tests]
    first = found[0]
    for test, one in zip(tests, found, strict=True):
        if (one and one.value) != (first and first.value):
            refusals.add(one or test.node, f"options.{name} that differs from other tests' (put it into defaultTest)")
            return None
    if first is None:
        return None
    if not isinstance(first.value, str) or first.file is not None:
        refusals.add(first, "anything but a text")
        return None
    return first.value if name != "provider" else _grader(first, refusals)


def _grader(node: Node, refusals: Refusals) -> str | None:
    """The model that judges, in our words."""
    text = node.text().replace(":messages:", ":").replace(":chat:", ":").replace("google:", "gemini:", 1)
    try:
        return str(parse_model(text))
    except EvalsError as error:
        refusals.add(node, error.message)
        return None
