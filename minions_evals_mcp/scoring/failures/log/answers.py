"""The answer against the results: what it leaves aside, contradicts, or claims without a call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.failed import Signal
from minions_evals_mcp.scoring.failures.log.errors import error_of
from minions_evals_mcp.scoring.failures.log.finding import Finding
from minions_evals_mcp.scoring.failures.log.kinds import Known, folded, key_words, values_in
from minions_evals_mcp.scoring.failures.log.reading import INPUT, MOST_HEARD, Log
from minions_evals_mcp.scoring.failures.log.tools import LOOKS
from minions_evals_mcp.scoring.failures.material import ValueMaterial, material, read
from minions_evals_mcp.scoring.failures.mentions import squeezed
from minions_evals_mcp.scoring.failures.steps import gave_nothing, result
from minions_evals_mcp.scoring.failures.texts import cut, flat, leaves

UNUSED, CONTRADICTED, EMPTY, CLAIMED, PASSED_OVER = 0.8, 0.75, 0.65, 0.65, 0.55
_COMPARED = frozenset(("code", "number", "day", "time", "address", "name"))
_STATES = frozenset(("state", "status", "condition", "availability", "zustand", "statut", "état", "estado", "stato"))
_FINE = late(
    r"(?:ok|okay|done|success\w*|succeeded|completed?|found|active|valid|true|sent|created|updated|saved|open)",
    re.IGNORECASE,
)
_NOTHING_FOUND = late(
    r"\b(?:no|not|none|nothing|zero|empty|unable|couldn|cannot|can't|didn|keine?\w*|nicht|nichts|aucune?|pas|rien|ningun\w*|nada"
    r"|nessun\w*|niente|nenhum\w*|não)\b",
    re.IGNORECASE,
)


def empty_results(log: Log, signals: Sequence[Signal]) -> Iterator[Finding]:
    """An empty result that the answer goes on from, without a word of it."""
    if log.failed.is_empty or (
        _NOTHING_FOUND.search(log.failed.text) and not any(signal.decides for signal in signals)
    ):
        return
    filled = {step.tool: place for place, step in enumerate(log.steps) if not gave_nothing(step)}
    for place, step in enumerate(log.steps):
        if step.error is None and gave_nothing(step) and filled.get(step.tool, -1) < place:
            sentence = f"{log.quoted(place)} gave an empty result ({result(step)}), and the answer uses it as data"
            yield Finding("empty", place, sentence, EMPTY)
            return


def claimed_results(log: Log, signals: Sequence[Signal]) -> Iterator[Finding]:
    """Deeds that the answer claims, and no call can have done."""
    claim = next((signal for signal in signals if signal.kind == "claim"), None)
    if claim is not None:
        made = ", ".join(f"`{tool}`" for tool in dict.fromkeys(step.tool for step in log.steps)) or "none at all"
        sentence = f"The answer says “{cut(claim.detail)}”, but the log has no call that did so; its calls: {cut(made)}"
        yield Finding("claim", None, sentence, CLAIMED)


def unused_results(log: Log) -> Iterator[Finding]:
    """The newest result that holds what was expected, or a figure of it, where the answer does not."""
    wanted = log.failed.expected or log.failed.wanted_words
    whole = [squeezed(value_text(leaf)) for _, leaf in leaves(wanted) if not isinstance(leaf, bool | None)]
    figures = [word for part in whole for word in part.split() if any(map(str.isdigit, word))]
    answer_text = f" {squeezed(log.failed.text)} "
    missed = [word for word in (*whole, *figures) if word and f" {word} " not in answer_text]
    for place in range(len(log.steps) - 1, -1, -1):
        step = log.steps[place]
        heard = f" {squeezed(flat(step.result))} "
        if error_of(step) is None and any(f" {word} " in heard for word in missed):
            words = f"{log.quoted(place)} gave the right result ({result(step)}), but the answer differs"
            yield Finding("unused", place, words, UNUSED)
            return


def contradicted_results(log: Log) -> Iterator[Finding]:
    """A value of the answer that nobody gave, where a result has the one of its kind that the answer leaves out."""
    if log.failed.is_empty:
        return
    if sum(log.sizes) > MOST_HEARD:
        return
    heard = material([log.failed.inputs, *(step.result for step in log.steps), *(step.arguments for step in log.steps)])
    given = [known for known_here in log.result_values for known in known_here]
    for value in values_in(log.failed.text, INPUT):
        if (
            value.kind not in _COMPARED
            or (value.kind == "name" and " " not in value.text)
            or _is_given(log, value, heard)
        ):
            continue
        meant = _meant(log, value, given)
        if meant is not None:
            gave = f"{log.quoted(meant.place)} gave {cut(meant.text)!r} ({result(log.steps[meant.place])})"
            words = f"{gave}, and the answer says {cut(value.text)!r}"
            yield Finding("contradicted", meant.place, words, CONTRADICTED)
            return


def _is_given(log: Log, value: Known, heard: ValueMaterial) -> bool:
    if folded(value.text) in log.asked_text or any(folded(value.text) in text for text in log.given_texts):
        return True
    if value.kind == "number":
        return all(heard.numbers.gives(quantity) for quantity in read(value.text).quantities)
    if value.kind == "day":
        return all(heard.has_day(day) for day in read(value.text).days)
    if value.kind == "time":
        return all(heard.has_time(clock) for clock in read(value.text).clocks)
    return False


def _meant(log: Log, value: Known, given: list[Known]) -> Known | None:
    """The result's value that the answer should have said: of the same kind, not in the answer, the only one or the nearest in words."""
    like = [
        fact
        for fact in given
        if fact.kind == value.kind and fact.shape == value.shape and folded(fact.text) not in log.answer
    ]
    near = [fact for fact in like if key_words(fact.key) & value.near or fact.near & value.near]
    for among in (near, like):
        texts = {folded(fact.text) for fact in among}
        if len(texts) == 1:
            return among[-1]
    return None


def passed_over(log: Log) -> Iterator[Finding]:
    """The first look-up whose state the answer leaves out, with all else that it gave."""
    if log.failed.is_empty or _NOTHING_FOUND.search(log.failed.text):
        return
    newest = {step.tool: place for place, step in enumerate(log.steps)}
    for place, step in enumerate(log.steps):
        state = _state(step.result)
        if state is None or newest[step.tool] != place or _FINE.fullmatch(state) or not LOOKS.match(step.tool):
            continue
        leaves_given = [folded(leaf) for _, leaf in leaves(step.result) if leaf is not None and len(str(leaf)) > 1]
        if not any(text in log.answer for text in leaves_given):
            sentence = f"{log.quoted(place)} gave {cut(state)!r} ({result(step)}), and the answer says nothing of it"
            yield Finding("unused", place, sentence, PASSED_OVER)
            return


def _state(given: JsonValue) -> str | None:
    states = (leaf for key, leaf in leaves(given) if key.casefold() in _STATES and isinstance(leaf, str))
    return next(states, None)
