"""Text under test, made safe for a terminal, and shown for what it is in a file."""

from __future__ import annotations

from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.next_steps import is_rendered, plain

_TURNING = frozenset(chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C))

_SPACES = str.maketrans("\n\t\r", "   ")
_COMMAND, _GLUE = late("`[^`]+`|(?<=: )minions-evals [^`;]+"), "\x00"
HIDDEN = late(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\ufffe\uffff]"
)
"""Control, direction and invisible characters; not tab and line feed."""


_ACTING = late("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters by which a terminal acts: control and direction characters; not tab and line feed."""


def harmless(text: str) -> str:
    """The lines without characters by which a terminal acts: what every printer writes, whoever the words are from."""
    return _ACTING.sub("", text)


def shortened(text: str, limit: int) -> str:
    """The text on one line of at most `limit` characters, cut between words."""
    clean = printable(text, 8 * limit)
    if len(clean) <= limit:
        return clean
    head = clean[: max(limit - 1, 0)]
    at = head.rfind(" ") if clean[len(head)] != " " else len(head)
    return head[: at if at > limit // 2 else len(head)].rstrip(" ,;:.") + "…"


def sentence_case(text: str) -> str:
    """The text as the beginning of a sentence. A name such as `support/prompt@2`, which is not all letters, stays as it is."""
    return text[:1].upper() + text[1:] if text.partition(" ")[0].rstrip(",:").isalpha() else text


def printable(text: str, limit: int = 200) -> str:
    """The text on one line: no control or direction characters, no secret of ours, cut at `limit` characters."""
    text = masked(text)
    if len(text) <= limit and text.isprintable() and _TURNING.isdisjoint(text):
        return text
    text = text if is_rendered(text) else _in_words(text)
    head = text[: limit * 4]
    clean = head.translate(_SPACES)
    if not clean.isprintable() or not _TURNING.isdisjoint(clean):
        clean = "".join(character for character in clean if character.isprintable() and character not in _TURNING)
    return clean if len(clean) <= limit and len(head) == len(text) else clean[: limit - 1] + "…"


def _in_words(text: str) -> str:
    """The text with the advice in it in words, as a stored reason has it. Text from outside may only look like advice."""
    try:
        return plain(text)
    except (ValueError, TypeError, LookupError, AttributeError):
        return text


def revealed(text: str) -> str:
    """The text with its lines and tabs; control, direction and invisible characters as `⟨U+202E⟩`, so that none acts."""
    return HIDDEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text.replace("\r\n", "\n"))


def hanging(line: str, width: int) -> str:
    """The line broken between words at that width, what goes on indented by two more than it begins; ids and commands stay whole."""
    from textwrap import wrap  # noqa: PLC0415  few lines are longer than a screen

    indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
    glued = _COMMAND.sub(lambda command: command[0].replace(" ", _GLUE), line)
    folded = wrap(glued, max(width, 20), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(folded).replace(_GLUE, " ")
