"""What the user says in Claude Code: typed, queued while the agent works, or given with a refusal; the program's own notices are none."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import JsonValue

from minions_evals_mcp.domain.conversations import content_text
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.sessions.conversation import objects, plain_text
from minions_evals_mcp.sessions.session import Session

INTERRUPTED = "[Request interrupted by user"
_PEOPLE = frozenset(("", "human", "channel"))
"""Kinds of origin behind which a person stands; older versions name none."""
_NOTICE = "<task-notification>"
_PROGRAMS = (
    _NOTICE, "<local-command-", "<bash-stdout>", "<bash-stderr>", "<system-reminder>", "<user-prompt-submit-hook>",
    "<teammate-message", "<cross-session-message", "[SYSTEM NOTIFICATION", "Caveat: The messages below",
)  # fmt: skip
"""How a message begins that the program wrote in the user's name."""
_AROUND = ("<ide_", "<system-reminder>")
"""How a block begins that the program puts beside what the user typed."""
_OWN_COMMANDS = ("<command-name>", "<bash-input>")
"""How a command begins that the program may carry out itself, such as /exit: the agent then owes it no answer."""
_COMMAND = re.compile(r"<command-name>([^<]{1,200})</command-name>")
_ARGUMENTS = re.compile(r"<command-args>([^<]{1,20000})</command-args>")
_OF_CALL = re.compile(r"<tool-use-id>([^<]{1,200})</tool-use-id>")
_STATUS = re.compile(r"<status>([^<]{1,40})</status>")
_FEEDBACK = "the user said:\n"
_REFUSED = "The user doesn't want to proceed"


@dataclass(frozen=True, slots=True)
class Notice:
    """What the program says of a call that went on in the background: its `result`, if it has one, and how it ended."""

    call: str
    result: str
    status: str

    @property
    def is_failure(self) -> bool:
        """Whether the call did not come to its end."""
        return self.status in ("failed", "killed", "error")


def take(session: Session, line: Json) -> Notice | None:
    """Takes a line of type user that is no sub-agent's: what was typed, or where the user stopped; returns the program's notice in it."""
    content = obj(line.get("message")).get("content")
    text = _typed(content)
    if text.startswith(INTERRUPTED):
        session.interrupt()
    elif not _is_of_person(line) or text.startswith(_PROGRAMS):
        return notice(text)
    elif line.get("isCompactSummary") is True:
        if not session.prompts:  # a session that goes on from another file begins with it
            session.ask(text, opens_turn=False)
    elif text.startswith(_OWN_COMMANDS):
        session.mention(_command(text))
    else:
        session.ask(_command(text))
    return None


def take_queued(session: Session, line: Json) -> Notice | None:
    """Takes an attachment: only what was typed while the agent worked is the user's, and stands nowhere else."""
    attachment = obj(line.get("attachment"))
    if attachment.get("type") != "queued_command":
        session.skip("a line of type attachment")
        return None
    text = _typed(attachment.get("prompt"))
    mode = plain_text(attachment.get("commandMode"))
    if not _is_of_person(attachment) or mode not in ("", "prompt") or text.startswith(_PROGRAMS):
        return notice(text)
    session.ask(_command(text))
    return None


def take_refusal(session: Session, result: str) -> None:
    """Takes what the user said where they refused a call."""
    if result.startswith(_REFUSED) and _FEEDBACK in result:
        session.ask(result.partition(_FEEDBACK)[2])


def notice(text: str) -> Notice | None:
    """The program's notice of a call in the background; None where the text is none."""
    found = _OF_CALL.search(text) if text.startswith(_NOTICE) else None
    if found is None:
        return None
    result = text.partition("<result>")[2].rpartition("</result>")[0]
    status = _STATUS.search(text)
    return Notice(found[1], result, status[1] if status else "")


def _is_of_person(line: Json) -> bool:
    kind = plain_text(obj(line.get("origin")).get("kind"))
    return kind in _PEOPLE and line.get("promptSource") != "system" and line.get("isMeta") is not True


def _typed(content: JsonValue) -> str:
    """The text without the blocks that the program puts beside it."""
    if isinstance(content, list):
        return content_text([
            block for block in objects(content) if not plain_text(block.get("text")).startswith(_AROUND)
        ])  # fmt: skip
    return content_text(content)


def _command(text: str) -> str:
    """A command as the user typed it: `/name arguments`."""
    if not text.startswith(("<command-", "<bash-input>")):
        return text
    named, given = _COMMAND.search(text), _ARGUMENTS.search(text)
    return " ".join(found[1].strip() for found in (named, given) if found) or text
