"""Errors of steps: those that nothing made good, and those that a result hides."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.log.finding import Finding
from minions_evals_mcp.scoring.failures.log.reading import Log
from minions_evals_mcp.scoring.failures.texts import cut, flat

FAILED, SWALLOWED = 0.85, 0.8
_UNKNOWN_TOOL = late(
    r"(?:unknown|no such|unregistered|undefined|invalid) (?:tool|function)|(?:tool|function) (?:\S{1,64} )?"
    r"(?:not found|does not exist|is not (?:defined|available))",
    re.IGNORECASE,
)
_BAD_ARGUMENTS = late(
    r"missing (?:\d+ )?required|required (?:argument|parameter|field|property)|unexpected (?:keyword )?argument"
    r"|invalid (?:argument|parameter|input|value|params)|bad request|validation error|\b(?:400|422)\b|must be an? "
    r"|is not of type|TypeError",
    re.IGNORECASE,
)
_ERROR_KEYS = frozenset(
    ("error", "errors", "error_message", "errormessage", "exception", "fault", "failure", "fehler", "erreur")
)
_STATE_KEYS = frozenset(("status", "state", "outcome", "result", "ok", "success", "succeeded"))
_FAILURE = late(
    r"(?:error|failed|failure|fail|rejected|denied|declined|timeout|timed[ _]out|unavailable|fehlgeschlagen|échec)",
    re.IGNORECASE,
)
_CODE_KEYS = frozenset(("status", "code", "status_code", "statuscode", "http_status", "httpstatus"))
_DEEPEST = 3
_ERROR_TEXT = late(
    r"\s*(?:\[?(?:error|exception|fatal|fehler|erreur|errore|erro)\b\]?\s*[:!-]|traceback \(most recent|(?:http )?(?:4\d\d|5\d\d) [A-Z]"
    r"|\w*(?:Error|Exception)\b:|(?:request|call|tool|connection) (?:failed|timed out)"
    r"|(?:[a-z]+ ){1,3}(?:failed|was (?:rejected|declined|denied))\b"
    r"|permission denied|access denied|internal server error"
    r"|service unavailable|timed? ?out\b)",
    re.IGNORECASE,
)

_NOTHING = late(
    r"\W*(?:none|null|nil|no|n/?a|nothing|false|0+|ok(?:ay)?|success|no (?:errors?|exceptions?|failures?)(?: found)?"
    r"|keine?r?|aucune?|ningun[oa]|ningún|nessun[oa]?|nenhuma?)\W*",
    re.IGNORECASE,
)
"""What a tool writes where it has no error to report."""


def unresolved_errors(log: Log) -> Iterator[Finding]:
    """Errors that no later success of the same tool made good, and those that a result hides."""
    last_success = {step.tool: place for place, step in enumerate(log.steps) if error_of(step) is None}
    for place, step in enumerate(log.steps):
        error = error_of(step)
        if error is not None and last_success.get(step.tool, -1) < place:
            yield _finding(log.quoted(place), place, error, hidden=step.error is None)


def error_of(step: ToolCall) -> str | None:
    """The error of the step: its own, or the one that its result is."""
    return step.error if step.error is not None else _hidden_error(step.result)


def _finding(quoted: str, place: int, error: str, *, hidden: bool) -> Finding:
    message = cut(error or "no message").rstrip(".")
    if hidden:
        sentence = f"{quoted} gave an error as its result: {message}; the run went on as if nothing were wrong"
        return Finding("error", place, sentence, SWALLOWED)
    if _UNKNOWN_TOOL.search(error):
        return Finding("tool", place, f"{quoted} called a tool that does not exist: {message}", FAILED)
    if _BAD_ARGUMENTS.search(error):
        return Finding("error", place, f"{quoted} was called with bad arguments: {message}", FAILED)
    return Finding("error", place, f"{quoted} failed: {message}; no later call of it succeeded", FAILED)


def _hidden_error(result: JsonValue, depth: int = 0) -> str | None:
    """Returns what a result says of a failure: in its text, or under the keys in which tools report one."""
    if isinstance(result, str):
        named = _ERROR_TEXT.match(result)
        return result if named and not _NOTHING.fullmatch(result, named.end()) else None
    if not isinstance(result, dict):
        return None
    for key, value in result.items():
        if _reports_failure(key.casefold(), value):
            return f"{key}: {flat(value) if isinstance(value, dict | list) else value}"
        if isinstance(value, dict) and depth < _DEEPEST and (inner := _hidden_error(value, depth + 1)):
            return inner
    return None


def _reports_failure(name: str, value: JsonValue) -> bool:
    if name in _ERROR_KEYS and not _is_nothing(value):
        return True
    if name in _STATE_KEYS and (value is False or (isinstance(value, str) and _FAILURE.fullmatch(value.strip()))):
        return True
    return name in _CODE_KEYS and isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600


def _is_nothing(value: JsonValue, depth: int = 0) -> bool:
    """Whether the value of an error's key says that there is none."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return depth <= _DEEPEST and all(_is_nothing(part, depth + 1) for part in parts)
    return not value or (isinstance(value, str) and _NOTHING.fullmatch(value) is not None)
