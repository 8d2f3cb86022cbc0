"""What stands in place of erased content: the figures, verdicts and names of a stored document stay, its words go."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from minions_evals_mcp.domain.neighbours import FOREIGN_SCORES
from minions_evals_mcp.domain.outputs import ERASED
from minions_evals_mcp.domain.values import ID_PATTERN

WORDS = frozenset(
    {"title", "description", "rationale", "reason", "summary", "text", "notes", "content", "input", "inputs", "output",
     "outputs", "expected", "expectedOutputs", "acceptedOutputs", "actualOutput", "errorMessage", "suggestion", "arguments",
     "toolCalls", "toolCallsLog", "messages", "userTurns", "extra", "vars", "variables", "quote"}
)  # fmt: skip
"""The keys whose values are words of somebody's, in messages, events and audits."""
_NAME = re.compile(ID_PATTERN)
_OF_AGENT_RUN = frozenset(
    {"agentId", "promptVersionRef", "triggeredBy", "triggeredAt", "completedAt", "tokensUsed", "cost", "status", "stopReason",
     "group", "agentRunId", "scores"}
)  # fmt: skip
"""What of an agent-run is kept: its names, times and figures."""
_BESIDE = frozenset({"sealed", "models", "usage", "interruptedAfterSteps"})
"""What of its `extra` is kept as it is: figures, and the mark of a seal."""
_OF_LOG = frozenset(
    {"format", "log", "id", "session", "version", "sample", "epoch", "case", "inputTokens", "outputTokens", "latencyMs",
     "startedAt", "completedAt"}
)  # fmt: skip
"""What is kept of the log that it came from."""
_OF_OUTPUT = (
    "latencyMs", "inputTokens", "outputTokens", "costUsd", "finishReason", "timedOut", "producedBy", "promptVersionRef",
    "agentRunId", "executionId", "group",
)  # fmt: skip
"""What of a unit's output is kept: the figures, and what it is of. Without `madeFrom` it is no cached output any more."""
Change = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Tombstone:
    """The text that stands in place of erased content, and each kind of stored document with it."""

    text: str

    def agent_run(self, stored: str) -> str:
        """An agent-run's fields without what was asked, called, answered and said beside it."""
        document = cast("dict[str, Any]", parsed(stored))
        emptied: dict[str, Any] = {
            "inputs": {ERASED: self.text}, "outputs": {"output": self.text}, "toolCallsLog": [],
        }  # fmt: skip
        return written(
            {
                key: emptied[key] if key in emptied and value not in (None, "", []) else self._of_run(key, value)
                for key, value in document.items()
            }
        )

    def _of_run(self, key: str, value: Any) -> Any:
        if key == "extra":
            return self._beside(value)
        if key in _OF_AGENT_RUN:
            return self._prose(value) if isinstance(value, str) else value
        return self.text if isinstance(value, str) and value else value if value in (None, "") else _figures(value)

    def _beside(self, extra: dict[str, Any]) -> dict[str, Any]:
        """What an agent-run says beside its fields: its log's names, models, tokens and scores. The conversation goes."""
        kept = {key: value for key, value in extra.items() if key in _BESIDE}
        if isinstance(log := extra.get("log"), dict):
            names = cast("dict[str, Any]", log)
            kept["log"] = {key: value for key, value in names.items() if key in _OF_LOG}
        if isinstance(scores := extra.get(FOREIGN_SCORES), list):
            kept[FOREIGN_SCORES] = [self._score(score) for score in cast("list[Any]", scores)]
        return kept

    def _score(self, score: Any) -> Any:
        """Another tool's score: its name, its value unless that is prose, and its figures."""
        if not isinstance(score, dict):
            return _figures(score)
        held = cast("dict[str, Any]", score)
        value = held.get("value")
        kept = {"value": self._prose(value)} if isinstance(value, str) else {}
        return {**_figures(held), **{key: held[key] for key in ("name",) if key in held}, **kept}

    def test_run(self, stored: str) -> str:
        """What is stored beside a test-run, without its output and reasons."""
        document = cast("dict[str, Any]", parsed(stored))
        document["actualOutput"] = {"output": self.text}
        document.pop("outputDiff", None)
        if document.get("warnings"):
            document["warnings"] = []
        if document.get("checks"):
            document["checks"] = [self._check(check) for check in document["checks"]]
        return written(document)

    def _check(self, check: dict[str, Any]) -> dict[str, Any]:
        whole = {**check, "reason": self.text}
        if check.get("parts"):
            whole["parts"] = [self._check(part) for part in check["parts"]]
        return whole

    def failure(self, stored: str) -> str:
        """A failure without what it says of the output."""
        document = cast("dict[str, Any]", parsed(stored))
        for key in ("description", "rootCause", "resolutionNotes"):
            if document.get(key):
                document[key] = self.text
        if document.get("signals"):
            document["signals"] = []
        document.pop("modelCause", None)
        return written(document)

    def unit_output(self, stored: str) -> str:
        """A unit's output, of which the figures are kept."""
        document = cast("dict[str, Any]", parsed(stored))
        kept = {key: document[key] for key in _OF_OUTPUT if key in document}
        return written({"output": {"output": self.text}, **kept})

    def expected(self, _stored: str) -> str:
        """An expected output."""
        return written({"output": self.text})

    def execution(self, stored: str) -> str:
        """An execution of a branch without its texts."""
        document = cast("dict[str, Any]", parsed(stored))
        words = {"actualOutput", "output", "inputs", "error", "errorMessage", "outputDiff", "expectedOutput"}
        return written(
            {key: mapped(value, lambda _: self.text) if key in words else value for key, value in document.items()}
        )

    def verdict(self, stored: str) -> str:
        """A kept verdict without its words."""
        document = cast("dict[str, Any]", parsed(stored))
        words = {"rationale", "reason", "text"} & document.keys()
        return written({**mapped(document, self._prose), **dict.fromkeys(words, self.text)})

    def _prose(self, text: str) -> str:
        """The text if it names something; many languages write words without spaces."""
        return text if not text or _NAME.match(text) else self.text

    def document(self, stored: str) -> str:
        """The document without its prose: names stay."""
        return written(self._without_words(parsed(stored)))

    def words(self, _stored: str) -> str:
        """A column of free text."""
        return self.text

    def _without_words(self, value: Any) -> Any:
        """The document without its prose, and without the values of keys that hold words of somebody's."""
        if isinstance(value, dict):
            return {
                key: mapped(part, lambda _: self.text) if key in WORDS else self._without_words(part)
                for key, part in cast("dict[str, Any]", value).items()
            }
        if isinstance(value, list):
            return [self._without_words(part) for part in cast("list[Any]", value)]
        return self._prose(value) if isinstance(value, str) else value


def _figures(value: Any) -> Any:
    """The value without its texts and lists."""
    if isinstance(value, dict):
        held = cast("dict[str, Any]", value)
        return {key: _figures(part) for key, part in held.items() if not isinstance(part, str | list)}
    return [] if isinstance(value, str | list) else value


def parsed(stored: str) -> Any:
    """The document that a column holds; None where it is no JSON."""
    try:
        return json.loads(stored)
    except ValueError:
        return None


def written(document: Any) -> str:
    """The document as columns hold it."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def mapped(value: Any, change: Change, *, keys: bool = False) -> Any:
    """The document with each of its texts changed; with `keys` the names in it, too, which stay distinct."""
    match value:
        case str():
            return change(value)
        case list():
            return [mapped(part, change, keys=keys) for part in cast("list[Any]", value)]
        case dict():
            changed: dict[str, Any] = {}
            for key, part in cast("dict[str, Any]", value).items():
                name = change(key) if keys else key
                while name in changed:
                    name += "+"
                changed[name] = mapped(part, change, keys=keys)
            return changed
        case _:
            return value


def leaves(value: Any) -> Iterator[str]:
    """Every text of the document, its keys among them."""
    match value:
        case str():
            yield value
        case list():
            for part in cast("list[Any]", value):
                yield from leaves(part)
        case dict():
            for key, part in cast("dict[str, Any]", value).items():
                yield key
                yield from leaves(part)
        case _:
            return
