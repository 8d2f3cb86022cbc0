"""Keys that nearly match a field of a record: unambiguous ones are read as the field, others are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from pydantic import BaseModel, JsonValue

from minions_evals_mcp.errors import InvalidRecordError

Json = dict[str, JsonValue]
SYNONYMS: Mapping[str, Mapping[str, str]] = {
    "test-case": {
        "input": "inputs", "expected": "expectedOutputs", "expectedOutput": "expectedOutputs", "reference": "expectedOutputs",
        "assert": "assertions", "checks": "assertions", "promptVersion": "promptVersionRef",
        "promptVersionId": "promptVersionRef",
    },
    "agent-run": {
        "input": "inputs", "output": "outputs", "response": "outputs", "promptVersion": "promptVersionRef",
        "promptVersionId": "promptVersionRef", "error": "errorMessage", "toolCalls": "toolCallsLog", "agent": "agentId",
        "steps": "toolCallsLog", "costUsd": "cost", "tokens": "tokensUsed", "totalTokens": "tokensUsed",
    },
    "benchmark": {"testCases": "testCaseIds", "caseIds": "testCaseIds", "cases": "testCaseIds", "threshold": "passingThreshold"},
    "rubric": {"criteria": "criteriaIds", "criterionIds": "criteriaIds", "threshold": "passingThreshold"},
    "rubric-criterion": {"guide": "scoringGuide", "rubric": "rubricId"},
    "prompt-version": {"text": "content", "template": "content", "prompt": "promptId", "version": "versionNumber"},
    "skill-definition": {"gates": "qualityGates"},
    "proposal-draft": {"agentRun": "agentRunId", "text": "content"},
    "test-branch": {"testCase": "testCaseId"},
}  # fmt: skip
"""Keys of other tools and interfaces for a type's fields. Compared without case, `_` and `-`."""
MAPPINGS = {"inputs": "input", "outputs": "output", "expectedOutputs": "output"}
"""Fields that are mappings: a plain value becomes their only entry, under this key."""
NAMED = 10
"""How many unknown keys a note names."""
LONG = 8
"""A key of this many letters is misspelt with up to two slips, a shorter one with one."""


@dataclass(frozen=True, slots=True)
class KeysRead:
    """A record's fields by their own names, the keys that were read as others, and the keys kept under `extra`."""

    fields: Json
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    extra: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a caller must know of the reading, in sentences."""
        read = [f"{given} as {name}" for given, name in self.renamed.items()]
        kept = (
            f"unknown keys kept in extra: {', '.join(sorted(self.extra)[:NAMED])}{' …' if len(self.extra) > NAMED else ''}"
            if self.extra
            else ""
        )
        return tuple(filter(None, [f"read {', '.join(read)}" if read else "", kept]))


def keys_read(kind: type[BaseModel], slug: str, given: Json, *, keeps_extra: bool, name: str = "") -> KeysRead:
    """The fields with near keys read as the field that they mean.

    With `keeps_extra` other unknown keys are kept under `extra`, else they stay for the type to refuse. Raises
    `InvalidRecordError` for a field given twice, and for a misspelt key that would be kept under `extra`.
    """
    if given.keys() <= _own_keys(kind):
        return KeysRead(given)
    known = {key: info.alias or key for key, info in kind.model_fields.items()}
    fields: Json = {}
    renamed: dict[str, str] = {}
    extra: list[str] = []
    for key, value in given.items():
        if key in known or key in known.values():
            fields[key] = value
            continue
        meant = _meant(kind, slug, key)
        if meant is None and keeps_extra:
            _refuse_misspelt(kind, slug, key, name)
            extra.append(key)
        if meant is None:
            fields[key] = value
            continue
        own = next(inner for inner, alias in known.items() if alias == meant)
        if meant in given or own in given or meant in renamed.values():
            first = next((earlier for earlier, field_name in renamed.items() if field_name == meant), meant)
            raise InvalidRecordError(
                f"means {meant}, which {first} gives too; give one", field=f"fields.{key}", record=name
            )
        renamed[key] = meant
        fields[meant] = _as_mapping(meant, value)
    return KeysRead(fields, renamed, tuple(extra))


def plain_key(key: str) -> str:
    """The key without case and separators."""
    return key.replace("_", "").replace("-", "").casefold()


@cache
def _own_keys(kind: type[BaseModel]) -> frozenset[str]:
    """The type's keys, on the wire and in Python."""
    return frozenset(name for key, info in kind.model_fields.items() for name in (key, info.alias or key))


@cache
def _known(kind: type[BaseModel]) -> dict[str, str]:
    """The type's fields on the wire, by their plain keys."""
    return {plain_key(info.alias or key): info.alias or key for key, info in kind.model_fields.items()}


@cache
def _meant(kind: type[BaseModel], slug: str, key: str) -> str | None:
    """The field that the key means without doubt: other case, a synonym, or its singular or plural."""
    known = _known(kind)
    plain = plain_key(key)
    synonyms = {plain_key(other): name for other, name in SYNONYMS.get(slug, {}).items()}
    if plain in known or plain in synonyms:
        return known.get(plain) or synonyms[plain]
    forms: tuple[Callable[[str], str], ...] = (lambda text: f"{text}s", lambda text: text.removesuffix("s"))
    found = {known[form(plain)] for form in forms if form(plain) in known}
    return found.pop() if len(found) == 1 else None


def _refuse_misspelt(kind: type[BaseModel], slug: str, key: str, record: str) -> None:
    """Raises where the key is so near to a field, or to a synonym of one, that it is hardly a key of its own."""
    from rapidfuzz import process  # noqa: PLC0415  for unknown keys only
    from rapidfuzz.distance import OSA  # noqa: PLC0415  as above

    names = {**{plain_key(other): name for other, name in SYNONYMS.get(slug, {}).items()}, **_known(kind)}
    plain = plain_key(key)
    slips = 2 if len(plain) >= LONG else 1
    near = process.extract(plain, list(names), scorer=OSA.distance, limit=1, score_cutoff=slips)
    if near:
        raise InvalidRecordError(
            f"unknown key; did you mean {names[near[0][0]]!r}?",
            field=f"fields.{key}",
            record=record,
            remedy="Put keys of your own into fields.extra.",
        )


def _as_mapping(name: str, value: JsonValue) -> JsonValue:
    """A plain value under a mapping's usual key."""
    if name not in MAPPINGS or isinstance(value, dict) or value is None:
        return value
    return {MAPPINGS[name]: value}
