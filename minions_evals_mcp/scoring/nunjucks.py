"""Prompt templates of promptfoo configs: Nunjucks, rendered by Jinja2's sandbox so that each comes out as it does there.

What Jinja2 would render otherwise is either matched (printing, truth, `+`, `==`, loops over objects, `.length`) or
refused by name: other tags and filters, calls of methods, several comparisons in a row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import cast

from jinja2 import Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import SandboxedEnvironment
from pydantic import JsonValue

from minions_evals_mcp.errors import BadInputError, UnsupportedError
from minions_evals_mcp.scoring.nunjucks_budget import budget
from minions_evals_mcp.scoring.nunjucks_filters import FILTERS, METHODS, PAIRS, SAME, WEIGHED, method
from minions_evals_mcp.scoring.nunjucks_values import JsUndefined, as_js, calculated, concatenated, js_string
from minions_evals_mcp.scoring.rendering import PREFIX, SUFFIX

ENVIRONMENT = "environment_"
"""The name that `env` has in a template while it is rendered by whoever knows the environment."""
_OPENINGS = (("{%", "%"), ("{{", "}"), ("{#", "#"))
_KNOWN_NODES = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem, nodes.Filter,
    nodes.Test, nodes.If, nodes.For, nodes.Assign, nodes.AssignBlock, nodes.CondExpr, nodes.Compare, nodes.Operand,
    nodes.And, nodes.Or, nodes.Not, nodes.BinExpr, nodes.Neg, nodes.Pos, nodes.Concat, nodes.List, nodes.Dict, nodes.Pair,
    nodes.Tuple, nodes.Call, nodes.Keyword,
)  # fmt: skip
_TESTS = frozenset(
    {"defined", "undefined", "none", "number", "string", "odd", "even", "divisibleby", "lower", "upper", SAME}
)


class _Code(CodeGenerator):
    """Jinja2's compiler, with `~` carried out by the environment, which counts what it makes."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802  named by the node's class
        self.write("environment.concatenated(")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write(")")


class _Nunjucks(SandboxedEnvironment):
    """Jinja2's sandbox, reading values as JavaScript does; no attribute of a Python object is ever reached."""

    code_generator_class = _Code
    concatenated = staticmethod(concatenated)
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def getattr(self, obj: object, attribute: str) -> object:
        if isinstance(obj, LoopContext):
            return super().getattr(obj, attribute)
        return self.getitem(obj, attribute)

    def getitem(self, obj: object, argument: object) -> object:
        if isinstance(obj, dict):
            return cast("dict[object, object]", obj).get(argument, JsUndefined(name=str(argument)))
        if argument == "length" and isinstance(obj, str | list):
            return len(cast("list[object]", obj))
        if (called := method(obj, argument)) is not None:
            return called
        if isinstance(obj, str | list) and isinstance(argument, int) and 0 <= argument < len(cast("list[object]", obj)):
            return cast("list[object]", obj)[argument]
        return JsUndefined(name=str(argument))

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        del context
        return calculated(operator, left, right)


def _environment() -> _Nunjucks:
    made = _Nunjucks(
        autoescape=False, keep_trailing_newline=True, undefined=JsUndefined, finalize=js_string, cache_size=0
    )
    made.filters = dict(FILTERS)
    made.tests = {name: test for name, test in made.tests.items() if name in _TESTS} | {SAME: FILTERS[SAME]}
    made.globals = {"range": made.globals["range"]}
    return made


_ENVIRONMENT = _environment()


def vet_template(template: str) -> None:
    """Raises `UnsupportedError` or `BadInputError` for a template that could not be rendered as Nunjucks does."""
    _compiled(template)


def rendered(template: str, variables: Mapping[str, JsonValue], *, prompt: bool = True) -> str:
    """The template with its variables filled in; a missing one is nothing, as in Nunjucks.

    A `prompt` with a line that opens something and does not close it is text, as in promptfoo; an assertion may go on in
    the next line.
    """
    if "{" not in template or (prompt and _is_partial(template)):
        return template
    try:
        with budget():
            return _compiled(template, prompt=prompt).render({name: as_js(value) for name, value in variables.items()})
    except (TemplateError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise BadInputError(f"the template cannot be rendered: {error}.", remedy="Check its variables.") from None


def rendered_of(template: str, variables: Mapping[str, JsonValue]) -> str:
    """The template that may name `env`, which its caller knows, filled in with those values."""
    return rendered(re.sub(r"\benv\b", ENVIRONMENT, template), {ENVIRONMENT: variables.get("env")})


def rendered_within(value: JsonValue, variables: Mapping[str, JsonValue]) -> JsonValue:
    """The value with every string in it rendered."""
    match value:
        case str():
            return rendered(value, variables)
        case list():
            return [rendered_within(one, variables) for one in value]
        case dict():
            return {key: rendered_within(one, variables) for key, one in value.items()}
        case _:
            return value


def prompt_text(template: str, inputs: Mapping[str, JsonValue]) -> str:
    """The prompt that a test's inputs make of the template: in one that is JSON the strings are rendered one by one."""
    around = [str(inputs.get(name, "")) for name in (PREFIX, SUFFIX)]
    template = f"{around[0]}{template}{around[1]}"
    try:
        parsed: JsonValue = json.loads(template)
    except (ValueError, RecursionError):
        return rendered(template, inputs)
    return json.dumps(rendered_within(parsed, inputs), ensure_ascii=False, indent=2)


def templates_in(prompt: str) -> list[str]:
    """The templates of a prompt: its strings where it is JSON, else itself."""
    try:
        parsed: JsonValue = json.loads(prompt)
    except (ValueError, RecursionError):
        return [prompt]
    return list(_strings(parsed))


def _strings(value: JsonValue) -> Iterable[str]:
    match value:
        case str():
            yield value
        case list():
            for one in value:
                yield from _strings(one)
        case dict():
            for one in value.values():
                yield from _strings(one)
        case _:
            return


@lru_cache(maxsize=512)
def _compiled(template: str, *, prompt: bool = True) -> Template:
    if prompt and _is_partial(template):
        return _compiled("")
    try:
        parsed = _ENVIRONMENT.parse(template)
        _vet(parsed)
        with budget():  # what is constant is calculated here already
            return Template.from_code(_ENVIRONMENT, _ENVIRONMENT.compile(_as_js_means(parsed)), _ENVIRONMENT.globals)  # pyright: ignore[reportArgumentType]  the globals' type is jinja2's own
    except TemplateSyntaxError as error:
        raise UnsupportedError(
            f"line {error.lineno} of the template: {error.message}.",
            remedy="Only what Nunjucks and Jinja2 have in common is carried out.",
        ) from None
    except RecursionError:
        raise BadInputError("the template is nested too deeply.") from None


def _vet(parsed: nodes.Template) -> None:
    for node in parsed.find_all(nodes.Node):
        said = _unsupported(node)
        if said:
            raise UnsupportedError(
                f"line {node.lineno} of the template: {said} is not carried out.",
                remedy="Prepare the value in the test's vars instead.",
            )


def _unsupported(node: nodes.Node) -> str:
    """What of the node is not carried out; empty where all is."""
    match node:
        case nodes.Call(node=called):
            return _call(called)
        case nodes.Filter(name=name):
            return "" if name in FILTERS else f"the filter {name!r}"
        case nodes.Test(name=name):
            return "" if name in _TESTS else f"the test {name!r}"
        case nodes.Name(name="env"):
            return "env outside a provider's config"
        case nodes.Compare(ops=ops) if len(ops) > 1:
            return "a comparison of more than two values"
        case nodes.For(recursive=recursive, test=test) if recursive or test is not None:
            return "a recursive or filtered loop"
        case _:
            return "" if isinstance(node, _KNOWN_NODES) else f"the tag {type(node).__name__.lower()!r}"


def _call(called: nodes.Node) -> str:
    match called:
        case nodes.Name(name="range"):
            return ""
        case nodes.Getattr(attr=name):
            return "" if name in METHODS else f"the method {name}()"
        case _:
            return "a call"


def _is_partial(template: str) -> bool:
    """Whether a line opens something that does not close in it."""
    return any(_opens(line, *marks) for line in template.split("\n") for marks in _OPENINGS)


def _opens(line: str, opening: str, closing: str) -> bool:
    at = line.rfind(opening)
    return at >= 0 and closing not in line[at + len(opening) :]


def _counted(side: nodes.Expr) -> nodes.Expr:
    return nodes.Filter(side, WEIGHED, [], [], None, None, lineno=side.lineno)


def _as_js_means(parsed: nodes.Template) -> nodes.Template:
    """The template with equality and loops rewritten to what JavaScript means by them."""
    for compare in list(parsed.find_all(nodes.Compare)):
        operand = compare.ops[0]
        if operand.op in {"eq", "ne"}:
            line = compare.lineno
            yes = nodes.Const(True, lineno=line)  # noqa: FBT003  jinja2's nodes take their fields by position
            compare.expr = nodes.Filter(compare.expr, SAME, [operand.expr], [], None, None, lineno=line)
            compare.ops = [nodes.Operand(operand.op, yes)]
        else:
            compare.expr, operand.expr = _counted(compare.expr), _counted(operand.expr)
    for loop in parsed.find_all(nodes.For):
        both = nodes.Const(isinstance(loop.target, nodes.Tuple), lineno=loop.lineno)
        loop.iter = nodes.Filter(loop.iter, PAIRS, [both], [], None, None, lineno=loop.lineno)
    for pair in parsed.find_all(nodes.Pair):
        if isinstance(pair.key, nodes.Name):  # {a: 1} names it "a" in JavaScript
            pair.key = nodes.Const(pair.key.name)
    parsed.set_environment(_ENVIRONMENT)
    return parsed
