"""What an agent did wrong in the course of a conversation, by rules: in which turn, with the words that show it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.checks import SpokenTurn
from minions_evals_mcp.scoring.conversations.wording import asking, plain, says, sentences
from minions_evals_mcp.scoring.failures.claims import unfounded_claims
from minions_evals_mcp.scoring.failures.texts import cut

Knows = Mapping[str, str | int | float | bool]
LONG_ENOUGH = 4
"""An answer of so many words says the same twice only where the agent is stuck."""
_PROMISE = re.compile(
    r"\b(?:i(?:'ll| will| am going to|'m going to)|we(?:'ll| will)|let me) (?:now |then |also |gladly |just )?"
    r"(?P<what>refund|cancel|send|book|change|update|reset|transfer|order|create|open|file|schedule|move|replace|pay|remove|delete|add)\b"
    r"|\bich werde\b[^.!?]{0,60}\b(?:erstatten|stornieren|senden|schicken|buchen|ändern|anlegen|überweisen|löschen)\b"
    r"|\bje vais (?:rembourser|annuler|envoyer|réserver|modifier|changer|créer|supprimer)\b"
    r"|\bvoy a (?:reembolsar|cancelar|enviar|reservar|cambiar|crear|eliminar|modificar)\b",
    re.IGNORECASE,
)
_CODED = re.compile(
    r"(?P<label>(?<![^\W\d_])[^\W\d_]++(?: of (?:your|the) [^\W\d_]+)?) (?:number |no\. )?(?:is|:|lautet|est|es)"
    r" (?P<code>(?=[\w-]*\d)[\w-]*[A-Z\d][\w-]*)"
)
_NOT_TOLD = re.compile(
    r"\b(?:you (?:have not|haven't|did not|didn't|never) (?:yet )?"
    r"(?:give|given|told|tell|provide|provided|mention|mentioned|share|shared|state|stated)"
    r"|i (?:do not|don't|still don't|still do not) (?:have|know)|sie haben\b[^.!?]{0,40}\bnicht|ich kenne\b[^.!?]{0,40}\bnicht"
    r"|vous ne m'avez pas|no me ha (?:dado|dicho|indicado))\b",
    re.IGNORECASE,
)
_FAREWELL = re.compile(
    r"\b(?:good ?bye|have a (?:nice|good|great) (?:day|evening|weekend)|auf wiedersehen|schönen tag|au revoir|bonne journée|adiós"
    r"|que tenga un buen día)\b",
    re.IGNORECASE,
)


@frozen_type
class TurnCause:
    """One thing that the agent did wrong: its kind, the turn (from 1), the words that show it, and all in a sentence."""

    kind: str
    turn: int
    quotation: str
    said: str


def turn_causes(turns: Sequence[SpokenTurn], knows: Knows) -> list[TurnCause]:
    """What went wrong in the turns, the likeliest cause of a failure first."""
    finders = (
        _asked_again(turns, knows),
        _forgot(turns, knows),
        _looped(turns),
        _contradicted(turns),
        _unkept(turns),
        _claimed(turns),
        _left(turns),
    )
    return [cause for found in finders for cause in found]


def _cause(kind: str, turn: int, quotation: str, words: str) -> TurnCause:
    quoted = cut(quotation)
    return TurnCause(kind, turn, quoted, f"In turn {turn} the agent {words}: “{quoted}”")


def _asked_again(turns: Sequence[SpokenTurn], knows: Knows) -> Iterator[TurnCause]:
    """It asks for what the user had told it."""
    for name, value in knows.items():
        told = next((at for at, turn in enumerate(turns, 1) if says(turn.user, str(value))), None)
        if told is None or isinstance(value, bool):
            continue
        for at, turn in enumerate(turns[told - 1 :], told):
            asked = next(
                (one for one in asking(turn.agent) if says(one, name) and not _knows_it(one, str(value))), None
            )
            if asked is not None:
                yield _cause("asked-again", at, asked, f"asks for the {name}, which the user told it in turn {told}")
                break


def _knows_it(sentence: str, value: str) -> bool:
    """Whether it asks for nothing: it says the fact, or that it was not told, which is another cause."""
    return says(sentence, value) or _NOT_TOLD.search(sentence) is not None


def _forgot(turns: Sequence[SpokenTurn], knows: Knows) -> Iterator[TurnCause]:
    """It says that it was not told what the user had told it, or gives another number or code for it."""
    for name, value in knows.items():
        told = next((at for at, turn in enumerate(turns, 1) if says(turn.user, str(value))), None)
        if told is None or isinstance(value, bool):
            continue
        for at, turn in enumerate(turns[told - 1 :], told):
            words = next(filter(None, (_forgotten(one, name, str(value)) for one in sentences(turn.agent))), None)
            if words is not None:
                yield _cause("forgot", at, words[0], f"{words[1]}, though the user told it in turn {told}")
                break


def _forgotten(sentence: str, name: str, value: str) -> tuple[str, str] | None:
    """The words that show it, and what they do; None for a sentence that remembers, or is of another thing."""
    if not says(sentence, name) or says(sentence, value):
        return None
    if _NOT_TOLD.search(sentence):
        return sentence, f"says that it does not know the {name}"
    coded = next(
        (match for match in _CODED.finditer(sentence) if says(name, match["label"]) or says(match[0], name)), None
    )
    same = coded is not None and plain(coded["code"]) in plain(value)
    return None if coded is None or same else (coded[0], f"gives another {name} than {value}")


def _looped(turns: Sequence[SpokenTurn]) -> Iterator[TurnCause]:
    """It gives the same answer to another message."""
    first: dict[str, int] = {}
    for at, turn in enumerate(turns, 1):
        words = plain(turn.agent)
        if len(words.split()) < LONG_ENOUGH:
            continue
        before = first.setdefault(words, at)
        if before < at and plain(turns[before - 1].user) != plain(turn.user):
            yield _cause("looped", at, turn.agent, f"says what it said in turn {before}")
            return


def _contradicted(turns: Sequence[SpokenTurn]) -> Iterator[TurnCause]:
    """It gives another number or code for the same thing."""
    first: dict[str, tuple[str, int]] = {}
    for at, turn in enumerate(turns, 1):
        for match in _CODED.finditer(turn.agent):
            label, code = match["label"].casefold(), match["code"]
            before, when = first.setdefault(label, (code, at))
            if before != code and when < at:
                yield _cause("contradicted-itself", at, match[0], f"contradicts turn {when}, where it said {before}")
                return


def _unkept(turns: Sequence[SpokenTurn]) -> Iterator[TurnCause]:
    """It promises to do something, and calls nothing from then on."""
    if any(turn.tool_calls is None for turn in turns):
        return
    for at, turn in enumerate(turns, 1):
        promise = _PROMISE.search(turn.agent)
        if promise is not None and not any(later.tool_calls for later in turns[at - 1 :]):
            sentence = next((one for one in sentences(turn.agent) if promise[0] in one), promise[0])
            yield _cause("promised", at, sentence, "promises what it does not do: no call follows")
            return


def _claimed(turns: Sequence[SpokenTurn]) -> Iterator[TurnCause]:
    """It says that something was done which none of its calls can have done."""
    if any(turn.tool_calls is None for turn in turns):
        return
    heard = ""
    for at, turn in enumerate(turns, 1):
        heard += f"{turn.user.casefold()}\n"
        calls = tuple(call for earlier in turns[:at] for call in earlier.tool_calls or ())
        claims = unfounded_claims(turn.agent, calls, heard, has_context=False)
        if claims:
            yield _cause("claimed", at, claims[0].quoted, "says that it did what no call of it did")
            return


def _left(turns: Sequence[SpokenTurn]) -> Iterator[TurnCause]:
    """It says goodbye without having called anything."""
    if turns and turns[-1].tool_calls is not None and not any(turn.tool_calls for turn in turns):
        farewell = _FAREWELL.search(turns[-1].agent)
        if farewell is not None:
            yield _cause("ended-early", len(turns), turns[-1].agent, "takes leave, and had done nothing")
