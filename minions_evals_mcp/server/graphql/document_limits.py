"""Limits on what a GraphQL request asks for, checked in linear time on the document as it is after its fragments are expanded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    Lexer,
    OperationDefinitionNode,
    SelectionSetNode,
    Source,
    TokenKind,
    parse,
)
from strawberry.extensions import SchemaExtension

MAX_BODY_BYTES = 4_000_000
MAX_TOKENS = 2_000
MAX_FIELDS = 500
"""Fields of all operations, each fragment counted wherever it is spread."""
MAX_DEPTH = 8
MAX_ALIASES = 15
MAX_NESTING = 100
"""Brackets of a document, or of the values beside it, inside one another."""
_OPENING = frozenset({TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L})
_CLOSING = frozenset({TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R})


def body_problem(body: bytes) -> str | None:
    """The reason why the body of a request is refused; None for one that can be carried out."""
    try:
        request: object = json.loads(body.decode())
        json.dumps(request, ensure_ascii=False).encode()
    except UnicodeError:
        return "the body is not UTF-8."
    except RecursionError:
        return f"the body is nested more than {MAX_NESTING} levels deep."
    except ValueError:
        return "the body is not JSON."
    if not isinstance(request, dict):
        return "the body must be a JSON object with `query`."
    members = cast("dict[str, object]", request)
    for name, kind, said in (
        ("query", str, "a string"),
        ("operationName", str, "a string"),
        ("variables", dict, "an object"),
    ):
        if not isinstance(members.get(name), kind | None):
            return f"`{name}` must be {said} or null."
    if _too_deep(members.get("variables")):
        return f"`variables` are nested more than {MAX_NESTING} levels deep."
    query = str(members.get("query") or "")
    return _query_problem(query) or (None if members.get("operationName") else _undecided(query))


def _undecided(query: str) -> str | None:
    """Nobody guesses which of several operations is meant: the first may be a mutation."""
    try:
        document = parse(query)
    except GraphQLError:
        return None  # the parser says so again where the request is carried out
    operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    if len(operations) < 2:
        return None
    names = ", ".join(node.name.value for node in operations if node.name is not None)
    return f"the document has {len(operations)} operations ({names}): name one in `operationName`."


def _too_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(MAX_NESTING):
        level = [
            inner
            for outer in level
            if isinstance(outer, list | dict)
            for inner in cast("list[object]", list(outer.values()) if isinstance(outer, dict) else outer)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  JSON
        ]
        if not level:
            return False
    return True


def _query_problem(query: str) -> str | None:
    """The parser calls itself for every bracket: the tokens are counted before it sees them."""
    lexer, tokens, nested = Lexer(Source(query)), 0, 0
    try:
        while (token := lexer.advance()).kind is not TokenKind.EOF:
            tokens += 1
            nested += (token.kind in _OPENING) - (token.kind in _CLOSING)
            if tokens > MAX_TOKENS:
                return f"the document has more than {MAX_TOKENS:,} tokens."
            if nested > MAX_NESTING:
                return f"the document is nested more than {MAX_NESTING} levels deep."
    except GraphQLError:
        return None  # the parser says what is wrong, and where
    return None


@dataclass(frozen=True, slots=True)
class _Size:
    fields: int = 0
    aliases: int = 0
    depth: int = 0

    def beside(self, other: _Size) -> _Size:
        return _Size(self.fields + other.fields, self.aliases + other.aliases, max(self.depth, other.depth))


class _CycleError(Exception):
    """A fragment spreads itself."""


@dataclass(slots=True)
class _Expansion:
    fragments: dict[str, FragmentDefinitionNode]
    sizes: dict[str, _Size | None] = field(default_factory=dict[str, _Size | None])

    def size(self, selections: SelectionSetNode | None) -> _Size:
        """The size of what is selected; each fragment is measured once."""
        total = _Size()
        for selection in selections.selections if selections is not None else ():
            total = total.beside(self._one(selection))
        return total

    def _one(self, selection: object) -> _Size:
        match selection:
            case FieldNode():
                inner = self.size(selection.selection_set)
                depth = (
                    1 if selection.name.value.startswith("__") else inner.depth + 1
                )  # tools ask for the schema deeply
                return _Size(inner.fields + 1, inner.aliases + (selection.alias is not None), depth)
            case InlineFragmentNode():
                return self.size(selection.selection_set)
            case FragmentSpreadNode():
                return self.fragment(selection.name.value)
            case _:
                return _Size()

    def fragment(self, name: str) -> _Size:
        if name not in self.sizes:
            self.sizes[name] = None
            fragment = self.fragments.get(name)
            self.sizes[name] = _Size() if fragment is None else self.size(fragment.selection_set)
        size = self.sizes[name]
        if size is None:
            raise _CycleError
        return size


def document_problem(document: DocumentNode) -> str | None:
    """The limit that the document passes, with its fragments expanded; None for one within all of them."""
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
    expansion = _Expansion(fragments)
    try:
        total = _Size()
        for node in document.definitions:
            if isinstance(node, OperationDefinitionNode):
                total = total.beside(expansion.size(node.selection_set))
        for name in fragments:  # validation walks those that nothing spreads, too
            total = total.beside(_Size(0, 0, expansion.fragment(name).depth))
    except _CycleError:
        return "a fragment spreads itself."
    except RecursionError:
        return f"the document is more than {MAX_DEPTH} levels deep."
    for said, found, most in (
        ("fields", total.fields, MAX_FIELDS), ("aliases", total.aliases, MAX_ALIASES), ("levels", total.depth - 1, MAX_DEPTH),
    ):  # fmt: skip
        if found > most:
            return f"the document has more than {most:,} {said} with its fragments expanded."
    return None


class ExpandedLimits(SchemaExtension):
    """Refuses a document before validation, whose rules take as many steps as the expanded document has fields."""

    def on_validate(self) -> Iterator[None]:
        """Stands in for validation where a limit is passed."""
        document = self.execution_context.graphql_document
        problem = None if document is None else document_problem(document)
        if problem is not None:
            self.execution_context.pre_execution_errors = [GraphQLError(problem)]
        yield None
