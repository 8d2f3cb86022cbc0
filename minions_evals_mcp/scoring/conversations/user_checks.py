"""What the player of a user did wrong, by rules: pure. Only what a rule can decide is a fault."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from minions_evals_mcp.domain.conversations import Conversation, Ending, Turn, UserFault
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.conversations import signs
from minions_evals_mcp.scoring.conversations.languages import language_of, speaks
from minions_evals_mcp.scoring.conversations.wording import asks_for, contains, plain, says, sentences
from minions_evals_mcp.scoring.failures.texts import cut

CHECK_VERSION = "rules-2"
"""The name of these rules: rules that find something else have another name, for people's labels speak of the ones they saw."""
LONG_ENOUGH = 3
"""A message of so many words says the same twice only if somebody repeats it."""
LEAST_DIGITS = 3


@frozen_type
class Heard:
    """A message of the user in its place: what the user is told, and what was said before."""

    setup: Conversation
    before: Sequence[Turn]
    text: str
    tools: Collection[str] = ()

    @property
    def number(self) -> int:
        """The turn, from 1."""
        return len(self.before) + 1

    @property
    def answered(self) -> str:
        """What the agent said last."""
        return self.before[-1].agent if self.before else ""

    def known(self) -> str:
        """All that the user can know by now, without its own words."""
        setup = self.setup
        parts = [setup.goal, setup.persona, setup.opening or "", *(one.fact for one in setup.withholds)]
        parts += [f"{name} {value}" for name, value in setup.knows.items()]
        return "\n".join([*parts, *(turn.agent for turn in self.before)])

    def fault(self, kind: str, reason: str, quotation: str = "") -> UserFault:
        """The fault of this message."""
        return UserFault.model_validate(
            {"kind": kind, "turn": self.number, "quotation": cut(quotation or self.text), "reason": reason}
        )


def user_faults(
    setup: Conversation,
    turns: Sequence[Turn],
    ended: Ending | None = None,
    *,
    tools: Collection[str] = (),
    sound: int = 0,
) -> tuple[UserFault, ...]:
    """The faults of the user in those turns, in order; the last turn may lack its answer. `ended` is why it ended, if it has.

    The messages of the first `sound` turns were checked before and are not checked again. A script says what its author wrote: of
    its messages only those are faults that tell a withheld fact unasked.
    """
    checks = (_volunteered,) if setup.player == "script" else CHECKS
    found = [fault for heard in _messages(setup, turns, tools, sound) for check in checks if (fault := check(heard))]
    if not found and ended == "user" and setup.player != "script":
        found += filter(None, [_early_stop(setup, turns)])
    return tuple(found)


def _messages(setup: Conversation, turns: Sequence[Turn], tools: Collection[str], sound: int) -> Iterator[Heard]:
    """The messages from the turn `sound` on that a player chose: a fixed opening is the author's."""
    for number, turn in enumerate(turns[sound:], sound):
        if number or turn.user != setup.opening:
            yield Heard(setup, turns[:number], turn.user, tools)


def _stop_token(heard: Heard) -> UserFault | None:
    found = signs.STOP_TOKEN.search(heard.text)
    if found is None or found[0] in heard.known():
        return None
    return heard.fault("stop-token", "the user says the token that ends the conversation", found[0])


def _repeated(heard: Heard) -> UserFault | None:
    """The same message a second time, though the agent had said something else and not asked for it again."""
    words = plain(heard.text)
    if len(words.split()) < LONG_ENOUGH or signs.PARTING.search(heard.text):
        return None
    again = signs.ASKED_AGAIN.search(heard.answered) is not None
    for at, turn in enumerate(heard.before):
        if plain(turn.user) != words:
            continue
        asked = heard.before[at - 1].agent if at else ""
        if _same_question(asked, heard.answered) or (again and at == len(heard.before) - 1):
            return None
        return heard.fault("repeated", f"the user repeats turn {at + 1} without being asked")
    return None


def _same_question(one: str, other: str) -> bool:
    """Whether two messages of the agent ask the same."""
    first, second = plain(one), plain(other)
    return bool(first) and (first in second or second in first)


def _volunteered(heard: Heard) -> UserFault | None:
    for withheld in heard.setup.withholds:
        if not says(heard.text, withheld.fact):
            continue
        asked = withheld.when is not None and any(contains(turn.agent, withheld.when) for turn in heard.before)
        told = any(says(turn.agent, withheld.fact) for turn in heard.before)
        if not asked and not told:
            return heard.fault("withheld-volunteered", "the user tells unasked what it should withhold", withheld.fact)
    return None


def _role_swapped(heard: Heard) -> UserFault | None:
    found = signs.ROLE_SWAPPED.search(heard.text)
    if found is not None:
        return heard.fault("role-swapped", "the user speaks as the assistant", found[0].strip())
    words = plain(heard.text)
    if len(words.split()) > LONG_ENOUGH and words == plain(heard.answered):
        return heard.fault("role-swapped", "the user says what the assistant said before")
    return None


def _wrong_language(heard: Heard) -> UserFault | None:
    setup = heard.setup
    wanted = setup.language or language_of(f"{setup.opening or ''} {setup.goal} {setup.persona}")
    spoken = language_of(heard.text)
    if wanted is None or spoken in (None, wanted) or (setup.language is None and speaks(heard.text, wanted)):
        return None
    return heard.fault("wrong-language", f"the user speaks {spoken} in place of {wanted}")


def _did_agents_job(heard: Heard) -> UserFault | None:
    for tool in sorted(heard.tools):
        called = (
            rf"(?<![\w-]){re.escape(tool)}(?:\(|(?![\w-]))" if not tool.isalpha() else rf"(?<![\w-]){re.escape(tool)}\("
        )
        if re.search(called, heard.text) and tool not in heard.known():
            return heard.fault("did-agents-job", f"the user names the tool {tool}, which only the agent knows")
    return None


def _goal_dropped(heard: Heard) -> UserFault | None:
    gives_up = signs.CANCELLING.search(f"{heard.setup.goal} {heard.setup.opening or ''}")
    found = (
        signs.GOAL_DROPPED.search(heard.text)
        or (None if gives_up else signs.NO_LONGER.search(heard.text))
        or _another_topic(heard)
    )
    if found is None or signs.GOAL_DROPPED.search(f"{heard.setup.goal} {heard.setup.persona}"):
        return None
    return heard.fault("goal-dropped", "the user drops its goal", found[0])


def _another_topic(heard: Heard) -> re.Match[str] | None:
    """Where the user turns to something of which neither its goal nor anybody said a word."""
    found = signs.TALK_ABOUT.search(heard.text)
    if found is None:
        return None
    spoken = {*plain("\n".join([heard.known(), *(turn.user for turn in heard.before)])).split()}
    words = [word for word in plain(next(filter(None, found.groups()))).split() if len(word) > LONG_ENOUGH]
    return found if words and spoken.isdisjoint(words) else None


def _wrong_facts(heard: Heard) -> UserFault | None:
    """A figure, code or address that the user was not told: in place of a known fact it contradicts that."""
    known = heard.known()
    return _contradicted(heard, known) or _invented(heard, known)


def _contradicted(heard: Heard, known: str) -> UserFault | None:
    for name, value in heard.setup.knows.items():
        digits = _digits(str(value))
        if not digits:
            continue
        for sentence in sentences(heard.text):
            if not says(sentence, name) and not (asks_for(heard.answered, name) and len(heard.setup.knows) == 1):
                continue
            others = [found for found in _figures(sentence) if _digits(found)]
            if others and not any(_is_known(found, known) for found in others):
                return heard.fault("contradicted-fact", f"the user says another {name} than {value}", others[0])
    return None


def _invented(heard: Heard, known: str) -> UserFault | None:
    places = [found[0] for pattern in (signs.EMAIL, signs.STREET) for found in pattern.finditer(heard.text)]
    numbers = [found for found in _figures(heard.text) if _is_telling(found)]
    for found in (*places, *numbers):
        if not _is_known(found, known):
            return heard.fault("invented-fact", "the user states what it was not told", found)
    return None


def _figures(text: str) -> Iterator[str]:
    return (found[0].strip(" .,-") for found in signs.NUMBER.finditer(text))


def _is_telling(found: str) -> bool:
    """Whether a figure is one that nobody says by the way: no small number, time, year or round number."""
    digits = _digits(found)
    if signs.CLOCK.match(found) or signs.YEAR.match(found):
        return False
    return len(digits) >= LEAST_DIGITS and not (found.isdigit() and found.endswith("00") and len(found) < 5)


def _is_known(found: str, known: str) -> bool:
    squeezed = _squeezed(found)
    return squeezed in _squeezed(known) or any(
        len(_digits(part)) >= LEAST_DIGITS and _squeezed(part) in _squeezed(known) for part in found.split()
    )


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _squeezed(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _early_stop(setup: Conversation, turns: Sequence[Turn]) -> UserFault | None:
    """The user left while the agent waited for an answer that it has, or for one to a question that is no farewell."""
    if not turns or not turns[-1].agent:
        return None
    last = turns[-1]
    ended = Heard(setup, turns, "")
    fault = partial(UserFault, kind="early-stop", turn=len(turns), quotation=cut(last.agent))
    asked = [name for name in setup.knows if asks_for(last.agent, name)]
    if asked:
        return fault(reason=f"the user leaves while the agent asks for the {asked[0]}")
    question = [*sentences(last.agent)][-1:]
    if not question or not question[0].rstrip("\"')»”").endswith("?") or signs.CLOSING.search(question[0]):
        return None
    if signs.PARTING.search(last.user) and ended.number > 2:
        return None
    return fault(reason="the user leaves a question of the agent unanswered")


Check = Callable[[Heard], UserFault | None]
CHECKS: tuple[Check, ...] = (
    _stop_token, _role_swapped, _volunteered, _wrong_language, _did_agents_job, _goal_dropped, _repeated, _wrong_facts,
)  # fmt: skip
