"""What the player of a user did wrong, by rules: pure. Only what a rule can decide is a fault."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import SequenceMatcher
from functools import partial

from minions_evals_mcp.domain.conversations import Conversation, Ending, Turn, UserFault
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.conversations import figures, signs
from minions_evals_mcp.scoring.conversations.foreign import foreign_language, named_languages, spoken_in
from minions_evals_mcp.scoring.conversations.role_swap import reads_as_assistant, speaks_as_assistant
from minions_evals_mcp.scoring.conversations.wording import asking, asks_for, contains, plain, says, sentences
from minions_evals_mcp.scoring.failures.texts import cut

CHECK_VERSION = "rules-5"
"""The name of these rules: rules that find something else have another name, for people's labels speak of the ones they saw."""
LONG_ENOUGH = 3
"""A message of so many words says the same twice only if somebody repeats it."""
LONG_IN_SIGNS = 6
"""The same of a script that is written without blanks."""
NEARLY = 0.93
LONGEST_COMPARED = 600
BESIDE_FAREWELL = 8
"""So many other words a farewell has."""
SHORT = 12
"""A message of no more words can be a mere farewell."""


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
    if _is_short(words) or (signs.PARTING.search(heard.text) and len(words.split()) <= SHORT):
        return None
    for at, turn in enumerate(heard.before):
        if not _is_nearly(plain(turn.user), words):
            continue
        asked = heard.before[at - 1].agent if at else ""
        again = at == len(heard.before) - 1 and signs.ASKED_AGAIN.search(heard.answered)
        if _same_question(asked, heard.answered) or again or _asks_for_what_it_tells(heard):
            return None
        return heard.fault("repeated", f"the user repeats turn {at + 1} without being asked")
    return None


def _is_short(words: str) -> bool:
    if not words.isascii() and len(words.split()) < LONG_ENOUGH:
        return len(words) < LONG_IN_SIGNS
    return len(words.split()) < LONG_ENOUGH


def _is_nearly(said: str, words: str) -> bool:
    """Whether two messages are the same but for a letter here and there; other figures make another message."""
    if said == words:
        return True
    if figures.digits(said) != figures.digits(words) or max(len(said), len(words)) > LONGEST_COMPARED:
        return False
    if min(len(said), len(words)) < NEARLY * max(len(said), len(words)) - 1 or len(words.split()) <= LONG_ENOUGH:
        return False
    matcher = SequenceMatcher(None, said, words, autojunk=False)
    return matcher.quick_ratio() >= NEARLY and matcher.ratio() >= NEARLY


def _asks_for_what_it_tells(heard: Heard) -> bool:
    """Whether the agent asks for a fact that the message tells, or has named it itself."""
    text, answered = figures.squeeze(heard.text), figures.squeeze(heard.answered)
    told = {name: figures.squeeze(str(value)) for name, value in heard.setup.knows.items()}
    return any(
        value in text and (value in answered or _wants(heard.answered, name)) for name, value in told.items() if value
    )


def _wants(text: str, name: str) -> bool:
    """Whether the message asks for the fact of that name, in whatever form and order its words stand."""
    if asks_for(text, name):
        return True
    stems = [word[:5] for word in plain(name).split() if len(word) > LONG_ENOUGH]
    return bool(stems) and any(
        all(any(word.startswith(stem) for word in plain(sentence).split()) for stem in stems)
        for sentence in asking(text)
    )


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
    found = speaks_as_assistant(heard.text, heard.setup.knows, [turn.agent for turn in heard.before])
    if found is not None:
        return heard.fault("role-swapped", "the user speaks as the assistant", found)
    words = plain(heard.text)
    if len(words.split()) > LONG_ENOUGH and words == plain(heard.answered):
        return heard.fault("role-swapped", "the user says what the assistant said before")
    if heard.answered and reads_as_assistant(heard.text):
        return heard.fault("role-swapped", "the user's message reads as an assistant's")
    return None


def _wrong_language(heard: Heard) -> UserFault | None:
    """Another language than the user's, and than the agent has used: who follows the agent does nothing wrong."""
    own = _own_languages(heard.setup, heard.before)
    spoken = own | {said for turn in heard.before if (said := spoken_in(turn.agent))}
    names = " ".join(map(str, heard.setup.knows.values()))
    found = foreign_language(heard.text, spoken, names) if own else None
    if found is None:
        return None
    return heard.fault("wrong-language", f"the user speaks {found} in place of {' or '.join(sorted(own))}")


def _own_languages(setup: Conversation, before: Sequence[Turn]) -> frozenset[str]:
    """The languages of the user: the given one, that of the opening, or what the description of the person tells."""
    if setup.language is not None:
        return frozenset({setup.language})
    opened = spoken_in(setup.opening) if setup.opening else None
    if opened is not None:
        return frozenset({opened})
    about = f"{setup.goal} {setup.persona}"
    told = spoken_in(f"{setup.opening or ''} {about}") or (spoken_in(before[0].user) if before else None)
    return named_languages(about) | (frozenset({told}) if told else frozenset[str]())


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
    said = figures.squeeze(heard.text)
    for name, value in heard.setup.knows.items():
        told = str(value)
        if not figures.digits(told) or figures.squeeze(told) in said:
            continue
        other = (
            next((one for one in figures.figures(heard.text) if _is_said_wrong(one, told, known)), None)
            or figures.wrong_number_in(heard.text, told)
            or _other_day(heard.text, told, known)
            or _other_under_name(heard, name, known)
        )
        if other is not None:
            return heard.fault("contradicted-fact", f"the user says another {name} than {value}", other)
    return None


def _is_said_wrong(found: str, told: str, known: str) -> bool:
    return not figures.is_known(found, known) and any(figures.other_than(found, one) for one in figures.figures(told))


def _other_day(text: str, told: str, known: str) -> str | None:
    """A date that nobody spoke of, beside the one of that fact: of the same month, or the same day of another one."""
    mine, all_known = figures.days(told), figures.days(known)
    for day in sorted(figures.days(text), key=str):
        if any(figures.is_same_day(day, other) for other in all_known):
            return None
        if any(day[1] == other[1] or (day[0] == other[0] and day[2] == other[2]) for other in mine):
            return f"{day[0]}.{day[1]}."
    return None


def _other_under_name(heard: Heard, name: str, known: str) -> str | None:
    """A figure that is said under the name of that fact, or in answer to the question for the only one."""
    for sentence in sentences(heard.text):
        if not says(sentence, name) and not (asks_for(heard.answered, name) and len(heard.setup.knows) == 1):
            continue
        said = [one for one in figures.figures(sentence) if figures.digits(one) and not figures.is_said_by_the_way(one)]
        if said and not any(figures.is_known(one, known) for one in said):
            return said[0]
    return None


def _invented(heard: Heard, known: str) -> UserFault | None:
    numbers = [found for found in figures.figures(heard.text) if figures.is_telling(found)]
    for found in (*figures.places(heard.text), *numbers):
        if not figures.is_known(found, known):
            return heard.fault("invented-fact", "the user states what it was not told", found)
    return None


def is_mere_farewell(text: str, answered: str = "") -> bool:
    """Whether a message only thanks and says goodbye: it answers nothing, and nobody need answer it.

    `answered` is what the agent said last: words in reply to its question are none.
    """
    rest = signs.PARTING.sub(" ", signs.FAREWELL.sub(" ", text))
    if rest == text or "?" in text or figures.digits(text) or _open_question(answered) is not None:
        return False
    return len(plain(rest).split()) <= BESIDE_FAREWELL


def _farewell(heard: Heard) -> UserFault | None:
    """A goodbye in place of the answer that the agent waits for."""
    words = plain(heard.text).split()
    if len(words) > SHORT or not is_mere_farewell(heard.text) or not signs.FAREWELL.search(heard.text):
        return None
    said = figures.squeeze(heard.text)
    if any(len(value) > 1 and value in said for value in map(figures.squeeze, map(str, heard.setup.knows.values()))):
        return None
    asked = next((name for name in heard.setup.knows if _wants(heard.answered, name)), None)
    question = _open_question(heard.answered)
    if asked is None and (question is None or not signs.OPEN_QUESTION.search(question)):
        return None
    return heard.fault("early-stop", f"the user says goodbye while the agent asks for {asked or 'an answer'}")


def _open_question(text: str) -> str | None:
    """The question with which a message ends, unless it is one of courtesy."""
    last = [*sentences(text)][-2:]
    asked = [one for one in last if one.rstrip("\"')»” ").endswith(("?", "\uff1f"))]
    return asked[-1] if asked and not signs.CLOSING.search(asked[-1]) else None


def _early_stop(setup: Conversation, turns: Sequence[Turn]) -> UserFault | None:
    """The user left while the agent waited for an answer that it has, or for one to a question that is no farewell."""
    if not turns or not turns[-1].agent:
        return None
    last = turns[-1]
    ended = Heard(setup, turns, "")
    fault = partial(UserFault, kind="early-stop", turn=len(turns), quotation=cut(last.agent))
    asked = [name for name in setup.knows if _wants(last.agent, name)]
    if asked:
        return fault(reason=f"the user leaves while the agent asks for the {asked[0]}")
    if _open_question(last.agent) is None or (signs.PARTING.search(last.user) and ended.number > 2):
        return None
    return fault(reason="the user leaves a question of the agent unanswered")


Check = Callable[[Heard], UserFault | None]
CHECKS: tuple[Check, ...] = (
    _stop_token, _role_swapped, _volunteered, _wrong_language, _did_agents_job, _goal_dropped, _repeated, _wrong_facts,
    _farewell,
)  # fmt: skip
