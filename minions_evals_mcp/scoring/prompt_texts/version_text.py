r"""The prompt that a prompt version and a case's inputs make.

Templates: `{{name}}`, `{{#if name}}…{{/if}}`, `{{#each list}}…{{this}}…{{/each}}`, `\{{`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type

NUNJUCKS = "nunjucks"
"""The tag of a version whose content is in that syntax, as the prompts of a promptfoo config are."""


def version_text(version: PromptVersion, inputs: Mapping[str, JsonValue]) -> str:
    """The version's content rendered in its syntax; raises `BadInputError` for what cannot be rendered."""
    if NUNJUCKS in version.tags:
        from minions_evals_mcp.scoring.nunjucks.templates import prompt_text  # noqa: PLC0415  jinja2 costs what few runs need

        return prompt_text(version.content, inputs)
    return render(version.content, inputs)


@frozen_type
class _Token:
    """A stretch of literal text, or the inside of a `{{…}}`."""

    text: str
    is_tag: bool
    line: int


def _tokens(template: str) -> Iterator[_Token]:
    at = 0
    while True:
        opened = template.find("{{", at)
        if opened < 0:
            yield _Token(template[at:], is_tag=False, line=0)
            return
        line = template.count("\n", 0, opened) + 1
        if opened > 0 and template[opened - 1] == "\\":
            yield _Token(template[at : opened - 1] + "{{", is_tag=False, line=line)
            at = opened + 2
            continue
        closed = template.find("}}", opened)
        if closed < 0:
            raise BadInputError(
                f"the template's '{{{{' in line {line} is never closed.", remedy="Write \\{{ for a literal."
            )
        yield _Token(template[at:opened], is_tag=False, line=line)
        yield _Token(template[opened + 2 : closed].strip(), is_tag=True, line=line)
        at = closed + 2


@dataclass(slots=True)
class _Block:
    """An open `#if` or `#each`: where its body begins, and what it has rendered so far."""

    kind: str
    name: str
    body: list[_Token]
    line: int


def render(template: str, variables: Mapping[str, JsonValue]) -> str:
    """The template with its variables filled in; values are data and are never rendered again.

    Raises `BadInputError` naming a missing variable, an unknown or unclosed block.
    """
    return _rendered(list(_tokens(template)), variables)


def _rendered(tokens: list[_Token], variables: Mapping[str, JsonValue]) -> str:
    out: list[str] = []
    stack: list[_Block] = []
    for token in tokens:
        closing = token.is_tag and token.text.startswith("/")
        if token.is_tag and token.text.startswith("#"):
            if stack:
                stack[-1].body.append(token)
            kind, _, name = token.text[1:].partition(" ")
            stack.append(_opened(kind, name.strip(), token.line))
        elif closing:
            block = _closed(stack, token)
            if stack:
                stack[-1].body.extend((*block.body, token))
            else:
                out.append(_block_text(block, variables))
        elif stack:
            stack[-1].body.append(token)
        else:
            out.append(_variable(token, variables) if token.is_tag else token.text)
    if stack:
        raise BadInputError(f"the template's {{{{#{stack[-1].kind}}}}} in line {stack[-1].line} is never closed.")
    return "".join(out)


def _opened(kind: str, name: str, line: int) -> _Block:
    if kind not in {"if", "each"} or not name:
        raise BadInputError(
            f"the template's {{{{#{kind}}}}} in line {line} is unknown.", remedy="Known are #if NAME and #each NAME."
        )
    return _Block(kind, name, [], line)


def _closed(stack: list[_Block], token: _Token) -> _Block:
    if not stack or stack[-1].kind != token.text[1:].strip():
        raise BadInputError(f"the template's {{{{{token.text}}}}} in line {token.line} has no opening tag.")
    return stack.pop()


def _block_text(block: _Block, variables: Mapping[str, JsonValue]) -> str:
    value = _value(block.name, variables, block.line) if block.kind == "each" else variables.get(block.name)
    if block.kind == "if":
        return _rendered(block.body, variables) if value else ""
    if not isinstance(value, list):
        raise BadInputError(f"the template repeats over {block.name!r} (line {block.line}), which is not a list.")
    return "".join(_rendered(block.body, {**variables, "this": item}) for item in value)


def _variable(token: _Token, variables: Mapping[str, JsonValue]) -> str:
    return value_text(_value(token.text, variables, token.line))


def _value(name: str, variables: Mapping[str, JsonValue], line: int) -> JsonValue:
    if name not in variables:
        known = ", ".join(sorted(variables)) or "none"
        raise BadInputError(
            f"the template needs the variable {name!r} (line {line}), which is not given.",
            remedy=f"Given: {known}.",
        )
    return variables[name]
