"""Carries out the expressions of a Nunjucks template."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from jinja2 import nodes

from minions_evals_mcp.scoring.nunjucks.conditions import CONDITIONS
from minions_evals_mcp.scoring.nunjucks.filters import FILTERS
from minions_evals_mcp.scoring.nunjucks.frames import Scope
from minions_evals_mcp.scoring.nunjucks.methods import method
from minions_evals_mcp.scoring.nunjucks.regexes import JsRegExp
from minions_evals_mcp.scoring.nunjucks.values import (
    UNDEFINED,
    JsArray,
    JsFunction,
    JsObject,
    as_added,
    calculated,
    compared,
    concatenated,
    identical,
    js_length,
    js_string,
    same,
    to_number,
    truth,
    weighed,
    whole,
)

_OPERATORS: Mapping[type[nodes.Node], str] = {
    nodes.Add: "+", nodes.Sub: "-", nodes.Mul: "*", nodes.Div: "/", nodes.FloorDiv: "//", nodes.Mod: "%", nodes.Pow: "**",
}  # fmt: skip
NOTHING: Mapping[str, object] = {}
OwnFilters = Mapping[str, Callable[..., object]]
"""Filters of a config's own, by name: they stand before those of Nunjucks."""


class Expressions:
    """The values of expressions in one rendering."""

    def __init__(self, scope: Scope, own: OwnFilters) -> None:
        self._scope = scope
        self._filters = {**FILTERS, **own}
        self._kinds: Mapping[type[nodes.Node], Callable[[Any], object]] = {
            nodes.Name: lambda node: scope.lookup(node.name),
            nodes.Const: lambda node: node.value.copy() if isinstance(node.value, JsRegExp) else node.value,
            nodes.Getattr: lambda node: looked_up(self.value(node.node), node.attr),
            nodes.Getitem: lambda node: looked_up(self.value(node.node), self.value(node.arg)),
            nodes.Filter: lambda node: self.filtered(node, None),
            nodes.Test: self._test,
            nodes.Compare: self._comparison,
            nodes.And: self._and,
            nodes.Or: self._or,
            nodes.Not: lambda node: not truth(self.value(node.node)),
            nodes.Neg: lambda node: whole(-to_number(self.value(node.node))),
            nodes.Pos: lambda node: whole(to_number(self.value(node.node))),
            nodes.Concat: lambda node: concatenated(*map(self.value, node.nodes)),
            nodes.CondExpr: self._chosen,
            nodes.List: lambda node: JsArray(map(self.value, node.items)),
            nodes.Dict: self._object,
            nodes.Call: lambda node: self.called(node, NOTHING),
            **dict.fromkeys(_OPERATORS, self._calculation),
        }

    def value(self, node: nodes.Node) -> object:
        """Returns what the expression gives."""
        return self._kinds[type(node)](node)

    def filtered(self, node: nodes.Filter, block: str | None) -> object:
        """Returns what the filter makes of its value, or of the block that the innermost of several filters is given."""
        if node.node is None:
            value: object = block
        elif block is not None and isinstance(node.node, nodes.Filter):
            value = self.filtered(node.node, block)
        else:
            value = self.value(node.node)
        named = {
            str(argument.key): self.value(argument.value) for argument in node.kwargs
        }  # jinja2 calls them pairs or keywords
        return JsFunction(self._filters[node.name])(value, *map(self.value, node.args), **named)

    def called(self, node: nodes.Call, more: Mapping[str, object]) -> object:
        """Returns what the function gives that is called, with more arguments by name."""
        function = self.value(node.node)
        if not isinstance(function, JsFunction):
            raise ValueError("the called value is not a function")  # noqa: TRY004  a template's mistake, told with it
        named = {argument.key: self.value(argument.value) for argument in node.kwargs} | dict(more)
        if named and not function.keywords:
            raise ValueError("only a macro takes arguments by name")
        result = function(*map(self.value, node.args), **named)
        return JsArray(cast("list[Any]", result)) if type(result) is list else result

    def _test(self, node: nodes.Test) -> object:
        return JsFunction(CONDITIONS[node.name])(self.value(node.node), *map(self.value, node.args))

    def _comparison(self, node: nodes.Compare) -> bool:
        left, right = self.value(node.expr), self.value(node.ops[0].expr)
        match node.ops[0].op:
            case "eq" | "ne" as operator:
                return same(left, right) is (operator == "eq")
            case "identical" | "different" as operator:
                return identical(left, right) is (operator == "identical")
            case "in" | "notin" as operator:
                return _within(left, right) is (operator == "in")
            case operator:
                return compared(operator, left, right)

    def _and(self, node: nodes.And) -> object:
        left = self.value(node.left)
        return self.value(node.right) if truth(left) else left

    def _or(self, node: nodes.Or) -> object:
        left = self.value(node.left)
        return left if truth(left) else self.value(node.right)

    def _chosen(self, node: nodes.CondExpr) -> object:
        if truth(self.value(node.test)):
            return self.value(node.expr1)
        return "" if node.expr2 is None else self.value(node.expr2)

    def _calculation(self, node: nodes.BinExpr) -> object:
        return calculated(_OPERATORS[type(node)], self.value(node.left), self.value(node.right))

    def _object(self, node: nodes.Dict) -> object:
        return JsObject((self._key(pair.key), self.value(pair.value)) for pair in node.items)

    def _key(self, node: nodes.Expr) -> str:
        """A pair's name; `{a: 1}` names it "a"."""
        return node.name if isinstance(node, nodes.Name) else js_string(self.value(node))


def looked_up(held: object, name: object) -> object:
    """Returns what stands under that name in the value: a member, a length, a method; nothing where none does."""
    if isinstance(held, dict):
        known = cast("dict[object, object]", held)
        if (key := js_string(name)) in known:
            return known[key]
    if isinstance(held, str | list | range):
        members = cast("Sequence[object]", held)
        if name == "length":
            return js_length(cast("list[object]", held))
        if isinstance(name, str) and name.isdecimal():
            name = int(name)
        if isinstance(name, int) and not isinstance(name, bool):
            return members[name] if 0 <= name < len(members) else UNDEFINED
    return held.member(name) if isinstance(held, JsRegExp) else method(cast("object", held), name) or UNDEFINED


def _within(part: object, held: object) -> bool:
    """Returns whether a list holds what is identical, a text the text, an object the name."""
    match weighed(held):
        case str():
            return as_added(weighed(part)) in str(held)
        case list() | range():
            return any(identical(part, item) for item in cast("Sequence[object]", held))
        case dict():
            return js_string(part) in cast("dict[object, object]", held)
        case _:
            raise ValueError("`in` looks into a list, a text or an object")
