"""Carries out the tags of a Nunjucks template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from jinja2 import nodes

from minions_evals_mcp.scoring.nunjucks.budget import spend_steps
from minions_evals_mcp.scoring.nunjucks.expressions import Expressions, OwnFilters, looked_up
from minions_evals_mcp.scoring.nunjucks.frames import Scope, ScopeFrame
from minions_evals_mcp.scoring.nunjucks.functions import FUNCTIONS
from minions_evals_mcp.scoring.nunjucks.values import UNDEFINED, JsFunction, JsObject, elements, js_string, truth

CALLER = "caller"
MACRO_STEPS = 10
"""What calling a macro costs of a rendering's steps."""


class Rendering:
    """One rendering of a template with its variables. What is written goes to the innermost of `_outputs`.

    `printed` collects each text that an expression wrote, which is not the template's own.
    """

    def __init__(self, variables: Mapping[str, object], own: OwnFilters) -> None:
        self.printed: list[str] = []
        self._scope = Scope({**{name: make() for name, make in FUNCTIONS.items()}, **variables})
        self._expressions = Expressions(self._scope, own)
        self._value = self._expressions.value
        self._outputs: list[list[str]] = []

    def text(self, body: Sequence[nodes.Node]) -> str:
        """Returns what those nodes write."""
        self._outputs.append([])
        try:
            self._each(body)
        finally:
            written = self._outputs.pop()
        return "".join(written)

    def _each(self, body: Sequence[nodes.Node]) -> None:
        for node in body:
            self._carry_out(node)

    def _carry_out(self, node: nodes.Node) -> None:
        match node:
            case nodes.Output(nodes=parts):
                self._outputs[-1].extend(map(self._written, parts))
            case nodes.If():
                self._each(self._branch(node))
            case nodes.For():
                self._loop(node)
            case nodes.Assign() | nodes.AssignBlock():
                self._assign(node)
            case nodes.Macro(name=name):
                self._scope.define(name, self._macro(node, None))
            case nodes.CallBlock(call=call):
                caller = self._macro(node, self._scope.frame)
                self._outputs[-1].append(self._printed(self._expressions.called(call, {CALLER: caller})))
            case nodes.FilterBlock(filter=last, body=body):
                self._outputs[-1].append(self._printed(self._expressions.filtered(last, self.text(body))))
            case nodes.Block(body=body):
                with self._scope.within(ScopeFrame(self._scope.frame, isolated=True)):
                    self._each(body)
            case _:
                raise ValueError(f"{type(node).__name__} is not supported")

    def _written(self, part: nodes.Node) -> str:
        return part.data if isinstance(part, nodes.TemplateData) else self._printed(self._value(part))

    def _printed(self, value: object) -> str:
        text = js_string(value)
        self.printed.append(text)
        return text

    def _assign(self, node: nodes.Assign | nodes.AssignBlock) -> None:
        if isinstance(node, nodes.Assign):
            value = self._value(node.node)
        else:
            text = self.text(node.body)
            value = text if node.filter is None else self._expressions.filtered(node.filter, text)
        for name in _names(node.target):
            self._scope.assign(name.name, value)

    def _branch(self, node: nodes.If) -> Sequence[nodes.Node]:
        return next((branch.body for branch in (node, *node.elif_) if truth(self._value(branch.test))), node.else_)

    def _loop(self, node: nodes.For) -> None:
        wanted = node.test is None or truth(self._value(node.test))  # `xs if c` is one expression there
        over = self._value(node.iter) if wanted else UNDEFINED
        names = [name.name for name in _names(node.target)]
        members = list(elements(over, both=len(names) > 1))
        with self._scope.within(ScopeFrame(self._scope.frame)) as frame:
            for index, member in enumerate(members):
                parts = [member] if len(names) == 1 else _parts(member, len(names))
                frame.values |= dict(zip(names, parts, strict=True))
                frame.values["loop"] = _place(index, len(members))
                self._each(node.body)
            if not members:
                self._each(node.else_)

    def _macro(self, node: nodes.Macro | nodes.CallBlock, around: ScopeFrame | None) -> JsFunction:
        """A function that writes the body; a macro sees no loop around it, what a call brings sees where it stands."""
        names = [argument.name for argument in node.args]
        defaults = dict(zip(reversed(names), reversed(node.defaults), strict=False))

        def written(*arguments: object, **named: object) -> str:
            spend_steps(MACRO_STEPS)
            given = {**named, **dict(zip(names, arguments, strict=False))}
            with self._scope.within(ScopeFrame(around, isolated=True)) as frame:
                if CALLER in named:
                    frame.values[CALLER] = named[CALLER]
                for name in names:
                    absent = self._value(defaults[name]) if name in defaults and name not in given else UNDEFINED
                    frame.values[name] = given.get(name, absent)
                return self.text(node.body)

        return JsFunction(written, keywords=True)


def _names(target: nodes.Node) -> list[nodes.Name]:
    several = target.items if isinstance(target, nodes.Tuple) else [target]
    return cast("list[nodes.Name]", several)


def _parts(member: object, number: int) -> list[object]:
    """Returns what a loop over several names gives each."""
    if isinstance(member, tuple):
        pair = [*cast("tuple[object, ...]", member)]
        return (pair + [UNDEFINED] * number)[:number]
    if member is None:
        raise ValueError("a loop over several names goes over lists of as many")
    return [looked_up(member, at) for at in range(number)]


def _place(index: int, length: int) -> JsObject:
    """Returns what `loop` says."""
    return JsObject(
        index=index + 1, index0=index, revindex=length - index, revindex0=length - index - 1, first=index == 0,
        last=index == length - 1, length=length,
    )  # fmt: skip
