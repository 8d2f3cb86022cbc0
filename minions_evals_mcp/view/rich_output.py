"""An output as a reader wants it: Markdown, highlighted code, JSON as a tree, a conversation in bubbles.

Whatever was under test stays text: no markup of its own, no link, no picture and no address of it is loaded or can be clicked.
"""

from __future__ import annotations

import json
import re
from collections.abc import MutableMapping, Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup, escape
from pydantic import JsonValue
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]  its options are not typed
from pygments.util import ClassNotFound

from minions_evals_mcp.report.plain import revealed

LONG = 20_000
"""Characters of an output that are rendered; its text tab has the rest."""
OPEN_LEVELS, MANY = 2, 40
"""Levels of a JSON tree that are open at first, and entries from which a level is closed."""
DEEPEST = 60
ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant",
    "system": "system", "tool": "tool",
}  # fmt: skip
_Env = MutableMapping[str, object]
_CODE = (
    ("python", r"(?:async )?def \w+\(|class \w+[(:]|import [\w.]+(?: as \w+)?$|from [\w.]+ import |@\w+"),
    (
        "javascript",
        r"(?:async )?function \w*\(|(?:const|let|var) \w+ =|export (?:default|const|function|class) |import .+ from ['\"]",
    ),
    ("sql", r"SELECT .+(?:\n| )FROM "),
)
"""How code begins that stands in no fence, by its language."""
_SHAPE = re.compile(r"^(?:[^\S\n]{2,}|\t)\S|[;{}:]$", re.MULTILINE)
"""A line of code, as a sentence has none: indented, or ended by a mark of its language."""


def rendered_output(value: JsonValue) -> Markup:
    """The output rendered by what it is: a conversation, JSON, or a text in Markdown."""
    found = parsed(value)
    turns = _turns(found)
    if turns:
        return Markup("").join(map(_bubble, turns))
    if isinstance(found, dict | list):
        return json_tree(found)
    if isinstance(value, str) and (language := code_language(value)):
        return Markup('<pre class="hl" tabindex="0" role="region" aria-label="output as code">{}</pre>').format(
            highlighted(value, language)
        )
    return markdown_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def code_language(text: str) -> str:
    """The language of a text that is code from its first line on; empty for any other."""
    code = text.strip()
    if "\n" not in code or "```" in code or not _SHAPE.search(code[:LONG]):
        return ""
    return next((language for language, begins in _CODE if re.match(begins, code, re.MULTILINE)), "")


def is_structured(value: JsonValue) -> bool:
    """True where the output is JSON, or a text that is."""
    return isinstance(parsed(value), dict | list)


def output_json(value: JsonValue) -> str:
    """The output as JSON over several lines."""
    return json.dumps(parsed(value), ensure_ascii=False, indent=2)


def parsed(value: JsonValue) -> JsonValue:
    """The JSON that a text is, else the value."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        found: JsonValue = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return found


def _turns(value: JsonValue) -> list[tuple[str, str]]:
    """The turns of a conversation, each with its role; none where the value is no conversation."""
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list) or not messages:
        return []
    turns: list[tuple[str, str]] = []
    for one in messages:
        if not isinstance(one, dict) or ROLES.get(str(one.get("role"))) is None:
            return []
        turns.append((ROLES[str(one["role"])], _content(one.get("content"))))
    return turns


def _content(content: JsonValue) -> str:
    """The text of a turn, of all its parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [one.get("text") if isinstance(one, dict) else one for one in content]
        if all(isinstance(text, str) for text in texts):
            return "\n\n".join(map(str, texts))
    return "" if content is None else json.dumps(content, ensure_ascii=False, indent=1)


def _bubble(turn: tuple[str, str]) -> Markup:
    role, text = turn
    return Markup('<div class="bubble {0}"><p class="about">{0}</p>{1}</div>').format(role, markdown_text(text))


def markdown_text(text: str) -> Markup:
    """The text as Markdown: headings are paragraphs, links and pictures are text with their address beside it."""
    shown = revealed(text[:LONG])
    more = Markup("")
    if len(text) > LONG:
        rest = "more characters: the text tab shows more, minions-evals report RUN -o FILE.json has all."
        more = Markup('<p class="quiet">… {} {}</p>').format(f"{len(text) - LONG:,}", rest)
    return Markup('<div class="md">{}{}</div>').format(Markup(_markdown().render(shown)), more)  # noqa: S704  markdown-it escapes every text, and no rule of ours lets one through


@cache
def _markdown() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "highlight": _highlighted}).enable(["table", "strikethrough"])
    for name, rule in (
        ("link_open", _link_open), ("link_close", _link_close), ("image", _image), ("heading_open", _heading_open),
        ("heading_close", _heading_close), ("table_open", _table_open), ("table_close", _table_close), ("fence", _fence),
        ("code_block", _fence), ("softbreak", _line_end), ("th_open", _cell_open), ("td_open", _cell_open),
    ):  # fmt: skip
        reader.add_render_rule(name, rule)
    return reader


def _highlighted(code: str, language: str, attributes: str) -> str:
    del attributes
    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return str(escape(code))
    return highlight(code, lexer, HtmlFormatter(nowrap=True))


def highlighted(code: str, language: str) -> Markup:
    """The code with its parts in classes of ours; plain where the language is not known."""
    return Markup(_highlighted(revealed(code[:LONG]), language, ""))  # noqa: S704  Pygments escapes every text


def _fence(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: _Env) -> str:
    del renderer, options, env
    language = tokens[at].info.strip().split(" ")[0]
    return f'<pre class="hl" tabindex="0">{_highlighted(tokens[at].content, language, "")}</pre>'


def _line_end(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: _Env) -> str:
    """A line of an output ends where its author ended it."""
    del renderer, tokens, at, options, env
    return "<br>\n"


def _link_open(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: _Env) -> str:
    del renderer, options, env
    del tokens, at
    return '<span class="md-link">'


def _link_close(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: _Env) -> str:
    del renderer, options, env
    address, depth = "", 0
    for token in reversed(tokens[:at]):
        if token.type == "link_close":
            depth += 1
        elif token.type == "link_open":
            if not depth:
                address = str(token.attrGet("href") or "")
                break
            depth -= 1
    text = "".join(token.content for token in tokens[:at] if token.type == "text")
    return "</span>" if address in text else f'</span> <span class="quiet">({escape(address)})</span>'


def _image(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: _Env) -> str:
    del renderer, options, env
    address = str(tokens[at].attrGet("src") or "")
    what = f"{len(address):,} characters of data" if address.startswith("data:") else address
    return f'<span class="md-link">picture: {escape(tokens[at].content)}</span> <span class="quiet">({escape(what)})</span>'


def _heading_open(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: _Env) -> str:
    del renderer, options, env
    return f'<p class="md-heading md-{escape(tokens[at].tag)}">'


def _heading_close(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: _Env) -> str:
    del renderer, options, env, tokens, at
    return "</p>"


def _table_open(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: _Env) -> str:
    del renderer, options, env, tokens, at
    return '<div class="scroll" role="region" aria-label="table in the output" tabindex="0"><table>'


def _table_close(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: _Env) -> str:
    del renderer, options, env, tokens, at
    return "</table></div>"


def _cell_open(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: _Env) -> str:
    del renderer, options, env
    return f"<{escape(tokens[at].tag)}>"


def json_tree(value: JsonValue, *, level: int = 0) -> Markup:
    """The value as a tree that folds: the first levels open, long ones closed."""
    if level > DEEPEST or not isinstance(value, dict | list) or not value:
        text = json.dumps(value, ensure_ascii=False)
        kind = (
            "s"
            if isinstance(value, str)
            else "m"
            if isinstance(value, int | float) and not isinstance(value, bool)
            else "k"
        )
        return Markup('<span class="{}">{}</span>').format(kind, revealed(text[:LONG]))
    entries = list(value.items()) if isinstance(value, dict) else [(str(at), one) for at, one in enumerate(value)]
    opened = Markup(" open") if level < OPEN_LEVELS and len(entries) <= MANY else ""
    bounds = "{}" if isinstance(value, dict) else "[]"
    rows = Markup("").join(
        Markup('<li><span class="nt">{}</span>: {}</li>').format(revealed(key[:LONG]), json_tree(one, level=level + 1))
        for key, one in entries
    )
    count = f"{len(entries):,} {'entry' if len(entries) == 1 else 'entries'}"
    return Markup(
        '<details class="tree"{}><summary>{} <span class="quiet">{}</span></summary><ul>{}</ul></details>'
    ).format(opened, bounds, count, rows)
