"""Tools that were not wanted, and steps that are missing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import JsonValue

from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.log.finding import Finding
from minions_evals_mcp.scoring.failures.log.reading import Log
from minions_evals_mcp.scoring.failures.mentions import squeezed
from minions_evals_mcp.scoring.failures.texts import cut, flat, leaves

TOOL_KEYS = frozenset(("tools", "availabletools", "available_tools", "functions", "toolnames", "tool"))
NOT_OFFERED, INSTEAD, OTHER_DEED, MISSING, NEEDED = 0.85, 0.85, 0.7, 0.8, 0.7
_VERBS: tuple[tuple[str, ...], ...] = (
    ("refund", "erstatt", "rembours", "reembols", "rimbors"),
    ("cancel", "stornier", "annul", "kündig", "résili"),
    ("book", "buch", "reserv", "réserv", "prenot"),
    ("send", "sende", "schick", "envoy", "envi", "invia"),
    ("delete", "lösch", "supprim", "elimin", "borra", "apag", "cancella"),
    ("pay", "bezahl", "payer", "paie", "pagar", "paga"),
    ("transfer", "überweis", "virement", "transfér", "transferir", "trasfer"),
    ("renew", "verläng", "renouvel", "renov", "rinnov", "extend", "prolong", "prorrog"),
    ("restart", "neustart", "redémarr", "reinici", "riavvi"),
    ("archive", "archiv"),
    ("approve", "genehmig", "approuv", "aprob", "approva", "aprov"),
    ("reject", "ablehn", "rejet", "rechaz", "respin", "rejeit"),
    ("close", "schließ", "ferme", "cierra", "cerrar", "chiud", "fecha"),
    ("assign", "zuweis", "attribu", "assigne", "asign", "assegn", "atribu"),
    ("unsubscribe", "abmeld", "désabonn"),
    ("subscribe", "abonnier", "abonne", "suscrib", "iscriv"),
    ("upgrade", "hochstuf"), ("downgrade", "herabstuf"),
    ("enable", "aktivier", "active", "activ", "attiva", "ativa"),
    ("disable", "deaktivier", "désactiv", "desactiv", "disattiv", "desativ"),
    ("lock", "sperr", "verrouill", "bloque", "blocca"),
    ("unlock", "entsperr", "déverrouill", "desbloque", "sblocca"),
    ("move", "verschieb", "déplac", "mueve", "sposta"),
    ("rename", "umbenenn", "renomm"),
)  # fmt: skip
"""What one can have done, in six languages; the first is what tools are called."""
_NO_NOUN = r"(?!\w*(?:ung|ungen|ings?|tions?|ments?|ção|ções|ción|ciones|zione|zioni|al|als)\b)"
"""After the beginning of a verb: not a noun made of it."""
_ASKED_FOR = tuple((verbs, late(rf"\b(?:{'|'.join(verbs)}){_NO_NOUN}")) for verbs in _VERBS)
LOOKS = late(
    r"^(?:get|list|track|trace|monitor|status|search|find|fetch|read|lookup|look|query|check|show|view|describe|load|open|browse|calc|convert|such|lese|cherch|lire|busca|leer|cerca|legg)",
    re.IGNORECASE,
)


def astray(log: Log) -> Iterator[Finding]:
    """Tools that the inputs do not offer, that the expected trajectory does not have, or that do another thing than was asked."""
    yield from _not_offered(log)
    yield from _instead(log) if log.failed.wanted_tools else _other_deeds(log)


def missing_steps(log: Log) -> Iterator[Finding]:
    """The first tool that the expected trajectory names and nobody called."""
    called = [step.tool.casefold() for step in log.steps]
    wanted = log.failed.wanted_tools
    missed = next((tool for tool in wanted if tool.casefold() not in called), None)
    if missed is None:
        return
    before = [called.index(tool.casefold()) for tool in wanted[: wanted.index(missed)] if tool.casefold() in called]
    after = f"after {log.quoted(max(before))}" if before else "at the beginning"
    sentence = f"The step `{missed}` is missing {after}: the expected trajectory names it"
    yield Finding("missing", max(before, default=None), sentence, MISSING)


def needed_call(log: Log) -> Iterator[Finding]:
    """No call at all, though the inputs offer tools."""
    offered = offered_tools(log.failed.inputs)
    if log.steps or not offered:
        return
    inputs_text = squeezed(flat(log.failed.inputs))
    named = [tool for tool in offered if inputs_text.count(squeezed(tool)) > 1]
    sentence = f"The agent made no call, though the inputs {'name' if named else 'offer'} `{(named or offered)[0]}`"
    yield Finding("missing", None, sentence, NEEDED)


def offered_tools(inputs: dict[str, JsonValue]) -> tuple[str, ...]:
    """The tools that the inputs say the agent has, where they do."""
    for key, value in inputs.items():
        if key.casefold() in TOOL_KEYS:
            names = [leaf for name, leaf in leaves(value) if isinstance(leaf, str) and name in ("", "name", "tool")]
            return tuple(name for name in names if name)
    return ()


def _not_offered(log: Log) -> Iterator[Finding]:
    offered = offered_tools(log.failed.inputs)
    for place, step in enumerate(log.steps):
        if offered and step.tool not in offered:
            sentence = f"{log.quoted(place)} is not a tool that the inputs offer ({cut(', '.join(offered))})"
            yield Finding("tool", place, sentence, NOT_OFFERED)


def _instead(log: Log) -> Iterator[Finding]:
    """Calls in the place of one that the expected trajectory names: both do something, or both look something up."""
    wanted = {tool.casefold(): tool for tool in log.failed.wanted_tools}
    called = {step.tool.casefold() for step in log.steps}
    missed = [tool for name, tool in wanted.items() if name not in called]
    for place, step in enumerate(log.steps):
        meant = next((tool for tool in missed if _does(tool) == _does(step.tool)), None)
        if meant is not None and step.tool.casefold() not in wanted:
            sentence = f"{log.quoted(place)} was called where `{meant}` was expected: {cut(canonical(step.arguments))}"
            yield Finding("tool", place, sentence, INSTEAD)


def _other_deeds(log: Log) -> Iterator[Finding]:
    """The first deed that the input does not ask for, where the one that it asks for was not done."""
    verbs_asked = [verbs for verbs, pattern in _ASKED_FOR if pattern.search(log.asked_text)]
    if not verbs_asked or any(_is_deed(step.tool, verbs) for verbs in verbs_asked for step in log.steps):
        return
    for place, step in enumerate(log.steps):
        other = next((verbs for verbs in _VERBS if _is_deed(step.tool, verbs)), None)
        if other is not None and other not in verbs_asked and _does(step.tool) and not _may_be_done_after(log, place):
            what = f"does another thing than the input asks for ({verbs_asked[0][0]})"
            yield Finding("tool", place, f"{log.quoted(place)} {what}: {cut(canonical(step.arguments))}", OTHER_DEED)
            return


def _may_be_done_after(log: Log, place: int) -> bool:
    """Returns whether a later call does something by a verb that is not known: what was asked, perhaps, in another word."""
    later = [step.tool for step in log.steps[place + 1 :] if step.error is None and _does(step.tool)]
    return any(not any(_is_deed(tool, verbs) for verbs in _VERBS) for tool in later)


def _does(tool: str) -> bool:
    return not LOOKS.match(tool)


def _is_deed(tool: str, verbs: tuple[str, ...]) -> bool:
    """Returns whether the tool is named for the deed: its verb stands first, or last in `order.cancel`."""
    parts = [part for part in re.split(r"[_\W]+|(?<=[a-z])(?=[A-Z])", tool) if part]
    return any(
        part.casefold().startswith(verb) for part in (parts[:1] if LOOKS.match(tool) else parts) for verb in verbs
    )
