"""Prompt templates of promptfoo configs: Nunjucks, rendered so that each comes out as it does there.

What is not supported is refused by name: other tags, filters and methods.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache

from jinja2 import TemplateSyntaxError, nodes
from pydantic import JsonValue

from minions_evals_mcp.domain.outputs import json_texts
from minions_evals_mcp.errors import BadInputError, UnsupportedError
from minions_evals_mcp.scoring.nunjucks.budget import budget
from minions_evals_mcp.scoring.nunjucks.conditions import CONDITIONS
from minions_evals_mcp.scoring.nunjucks.evaluation import Rendering
from minions_evals_mcp.scoring.nunjucks.expressions import OwnFilters
from minions_evals_mcp.scoring.nunjucks.filters import FILTERS, WITH_NAMES
from minions_evals_mcp.scoring.nunjucks.functions import FUNCTIONS, OF_CYCLER
from minions_evals_mcp.scoring.nunjucks.grammar import parsed
from minions_evals_mcp.scoring.nunjucks.methods import METHODS
from minions_evals_mcp.scoring.nunjucks.values import as_js
from minions_evals_mcp.scoring.reserved_inputs import COMPUTED, PREFIX, SUFFIX

ENVIRONMENT = "environment_"
"""The name that `env` has in a template while it is rendered by whoever knows the environment."""
_OPENINGS = (("{%", "%"), ("{{", "}"), ("{#", "#"))
NO_TEMPLATE = "text with braces that is no template goes between {% raw %} and {% endraw %}"
OF_A_RUN = frozenset({"__evalId", "__evalStepId", "__repeatIndex"})
NO_NAMES: frozenset[str] = frozenset()
NO_FILTERS: OwnFilters = {}
_KNOWN_NODES = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem, nodes.Filter,
    nodes.Test, nodes.If, nodes.For, nodes.Assign, nodes.AssignBlock, nodes.CondExpr, nodes.Compare, nodes.Operand,
    nodes.And, nodes.Or, nodes.Not, nodes.BinExpr, nodes.Neg, nodes.Pos, nodes.Concat, nodes.List, nodes.Dict, nodes.Pair,
    nodes.Call, nodes.Keyword, nodes.Macro, nodes.CallBlock, nodes.FilterBlock,
    nodes.Block,
)  # fmt: skip


def vet_template(template: str, own: frozenset[str] = NO_NAMES) -> frozenset[str]:
    """The filters in it among a config's `own`.

    Raises `UnsupportedError` or `BadInputError` for a template that could not be rendered as Nunjucks does.
    """
    return frozenset(filter_.name for filter_ in _compiled(template, own).find_all(nodes.Filter)) & own


def printed_names(template: str) -> frozenset[str]:
    """The variables that it prints wherever it is rendered, without asking for them first or putting another in place."""
    tree = _compiled(template)
    outputs = (node for part in tree.body if isinstance(part, nodes.Output) for node in part.nodes)
    stored = {name.name for name in tree.find_all(nodes.Name) if name.ctx != "load"}
    return frozenset(name for output in outputs if (name := _printed(output)) is not None) - stored - FUNCTIONS.keys()


def _printed(node: nodes.Node) -> str | None:
    """The variable at the root of what is printed; None of what is computed, or has a default."""
    while isinstance(node, nodes.Getattr | nodes.Getitem | nodes.Filter) and node.node is not None:
        if isinstance(node, nodes.Filter) and node.name in {"default", "d"}:
            return None
        node = node.node
    return node.name if isinstance(node, nodes.Name) else None


def rendered(
    template: str, variables: Mapping[str, JsonValue], *, prompt: bool = True, own: OwnFilters = NO_FILTERS
) -> str:
    """The template with its variables filled in; a missing one is nothing, as in Nunjucks. `own` are a config's filters.

    A `prompt` with a line that opens something and does not close it is text, as in promptfoo; an assertion may go on in
    the next line.
    """
    return rendered_with_prints(template, variables, prompt=prompt, own=own)[0]


def rendered_with_prints(
    template: str, variables: Mapping[str, JsonValue], *, prompt: bool = True, own: OwnFilters = NO_FILTERS
) -> tuple[str, tuple[str, ...]]:
    """The same, and each text that an expression put into it: after its filters, so it may be no variable as it stands."""
    if "{" not in template or (prompt and _is_partial(template)):
        return template, ()
    try:
        with budget():
            body = _compiled(template, frozenset(own), prompt=prompt).body
            rendering = Rendering({name: as_js(value) for name, value in variables.items()}, own)
            return rendering.text(body), tuple(rendering.printed)
    except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise BadInputError(f"the template cannot be rendered: {error}.", remedy="Check its variables.") from None


def rendered_of(template: str, variables: Mapping[str, JsonValue]) -> str:
    """The template that may name `env`, which its caller knows, filled in with those values."""
    return rendered(re.sub(r"\benv\b", ENVIRONMENT, template), {ENVIRONMENT: variables.get("env")})


def rendered_within(value: JsonValue, variables: Mapping[str, JsonValue], own: OwnFilters = NO_FILTERS) -> JsonValue:
    """The value with every string in it rendered."""
    match value:
        case str():
            return rendered(value, variables, own=own)
        case list():
            return [rendered_within(item, variables, own) for item in value]
        case dict():
            return {key: rendered_within(item, variables, own) for key, item in value.items()}
        case _:
            return value


def prompt_text(template: str, inputs: Mapping[str, JsonValue], own: OwnFilters = NO_FILTERS) -> str:
    """The prompt that a test's inputs make of the template: in one that is JSON the strings are rendered one by one,
    with variables as they stand.

    `own` are a config's filters.
    """
    around = [str(inputs.get(name, "")) for name in (PREFIX, SUFFIX)]
    template = f"{around[0]}{template}{around[1]}"
    try:
        parsed: JsonValue = json.loads(template)
    except (ValueError, RecursionError):
        computed = inputs.get(COMPUTED)
        return rendered(template, {**inputs, **computed} if isinstance(computed, dict) else inputs, own=own)
    return json.dumps(rendered_within(parsed, inputs, own), ensure_ascii=False, indent=2)


def templates_in(prompt: str) -> list[str]:
    """The templates of a prompt: its strings where it is JSON, else itself."""
    try:
        parsed: JsonValue = json.loads(prompt)
    except (ValueError, RecursionError):
        return [prompt]
    return list(json_texts(parsed))


@lru_cache(maxsize=512)
def _compiled(template: str, own: frozenset[str] = NO_NAMES, *, prompt: bool = True) -> nodes.Template:
    if prompt and _is_partial(template):
        return _compiled("")
    try:
        tree = parsed(template)
        _vet(tree, own)
    except TemplateSyntaxError as error:
        raise UnsupportedError(
            f"line {error.lineno} of the template: {error.message} ({NO_TEMPLATE}).",
            remedy="Write it in Nunjucks.",
        ) from None
    except RecursionError:
        raise BadInputError("the template is nested too deeply.") from None
    return tree


def _vet(template: nodes.Template, own: frozenset[str]) -> None:
    pairs = {id(node.target) for node in template.find_all((nodes.For, nodes.Assign))}
    for node in template.find_all(nodes.Node):
        problem = "" if id(node) in pairs and isinstance(node, nodes.Tuple) else _unsupported(node, own)
        if problem:
            raise UnsupportedError(
                f"line {node.lineno} of the template: {problem} is not supported.",
                remedy="Prepare the value in the test's vars instead.",
            )


def _unsupported(node: nodes.Node, own: frozenset[str]) -> str:
    """Returns what of the node is not supported; empty where all is."""
    match node:
        case nodes.Call(dyn_args=None, dyn_kwargs=None, node=called):
            return _call(called)
        case nodes.Call() | nodes.For(recursive=True) | nodes.Assign(target=nodes.NSRef()):
            return "syntax that Nunjucks does not have"
        case nodes.Filter(name=name, kwargs=named):
            known = name in FILTERS.keys() | own and {pair.key for pair in named} <= WITH_NAMES.get(
                name, frozenset[str]()
            )
            return "" if known else f"the filter {name!r}{' with names' if name in FILTERS else ''}"
        case nodes.Test(name=name):
            return "" if name in CONDITIONS else f"the test {name!r}"
        case nodes.Name(name=name) if name in OF_A_RUN:
            return f"{name}, which says where in a run of promptfoo's it is,"
        case nodes.Name(name="env"):
            return "env outside a provider's config"
        case _:
            return "" if isinstance(node, _KNOWN_NODES) else f"the tag {type(node).__name__.lower()!r}"


def _call(called: nodes.Node) -> str:
    match called:
        case nodes.Getattr(attr=name):
            return "" if name in METHODS | OF_CYCLER else f"the method {name}()"
        case _:
            return "" if isinstance(called, nodes.Name | nodes.Call) else "a call"


def _is_partial(template: str) -> bool:
    """Returns whether a line opens something that does not close in it."""
    return any(_opens(line, *marks) for line in template.split("\n") for marks in _OPENINGS)


def _opens(line: str, opening: str, closing: str) -> bool:
    at = line.rfind(opening)
    return at >= 0 and closing not in line[at + len(opening) :]
