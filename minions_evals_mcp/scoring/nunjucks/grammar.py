"""Nunjucks' grammar on Jinja2's parser: its order of operators, `===`, `!==`, `is` after comparisons, `switch`, `elseif`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from jinja2 import Environment, nodes
from jinja2.lexer import TOKEN_BLOCK_BEGIN, TOKEN_VARIABLE_BEGIN, Lexer
from jinja2.parser import Parser

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.nunjucks.regexes import JsRegExp

REGEX = "regex"
_REGEX = re.compile(r"r/(?:\\.|[^/\\\n])*/[gimy]*")
IDENTICAL = {"eq": "identical", "ne": "different"}
"""What `===` and `!==` are called."""
_CASE_ENDS = ("name:case", "name:default", "name:endswitch")
_ORDERS = frozenset({"lt", "lteq", "gt", "gteq"})
_ADDED: Mapping[str, type[nodes.BinExpr]] = {"add": nodes.Add, "sub": nodes.Sub}
_MULTIPLIED: Mapping[str, type[nodes.BinExpr]] = {"mul": nodes.Mul, "div": nodes.Div}


class NunjucksParser(Parser):
    """Parses a template of Nunjucks into Jinja2's nodes."""

    def __init__(self, environment: Environment, source: str, name: str | None, filename: str | None) -> None:
        super().__init__(environment, source, name, filename)
        self._in_parentheses: list[nodes.Expr] = []

    def parse_statement(self) -> nodes.Node | list[nodes.Node]:
        """Any statement, `switch` among them."""
        if not self.stream.current.test("name:switch"):
            return super().parse_statement()
        self._tag_stack.append("switch")
        made = self._switch()
        self._tag_stack.pop()
        return made

    def _switch(self) -> nodes.Node | list[nodes.Node]:
        """A switch as the `if` that it is: a case without a body joins the next."""
        next(self.stream)
        value = self.parse_expression()
        self.parse_statements(_CASE_ENDS)  # what stands before the first case is left out there, too
        branches, test = list[nodes.If](), None
        while self.stream.current.test("name:case"):
            line = next(self.stream).lineno
            fits = nodes.Compare(value, [nodes.Operand("identical", self.parse_expression())], lineno=line)
            test = fits if test is None else nodes.Or(test, fits, lineno=line)
            if body := self.parse_statements(_CASE_ENDS):
                branches.append(nodes.If(test, body, [], [], lineno=line))
                test = None
        default = self.parse_statements(("name:endswitch",)) if self.stream.skip_if("name:default") else []
        self.stream.expect("name:endswitch")
        if not branches:
            return default
        branches[0].elif_, branches[0].else_ = branches[1:], default
        return branches[0]

    def parse_if(self) -> nodes.If:
        """An `if` with its `elif` or `elseif`."""
        result = node = nodes.If(lineno=self.stream.expect("name:if").lineno)
        while True:
            node.test, node.elif_, node.else_ = self.parse_expression(), [], []
            node.body = self.parse_statements(("name:elif", "name:elseif", "name:else", "name:endif"))
            token = next(self.stream)
            if not token.test_any("name:elif", "name:elseif"):
                break
            node = nodes.If(lineno=token.lineno)
            result.elif_.append(node)
        if token.test("name:else"):
            result.else_ = self.parse_statements(("name:endif",), drop_needle=True)
        return result

    def parse_condexpr(self) -> nodes.Expr:
        """`value if test else other`; none of the three is another without parentheses."""
        value = self.parse_or()
        line = self.stream.current.lineno
        if not self.stream.skip_if("name:if"):
            return value
        test = self.parse_or()
        other = self.parse_or() if self.stream.skip_if("name:else") else None
        return nodes.CondExpr(test, value, other, lineno=line)

    def parse_not(self) -> nodes.Expr:
        """`not` is looser than `in` and `is`, and tighter than comparisons."""
        if self.stream.current.test("name:not"):
            line = next(self.stream).lineno
            return self._denied(self.parse_not(), line)
        return self._contained()

    def _denied(self, node: nodes.Expr, line: int) -> nodes.Expr:
        """`not` before that expression; it concerns the first of several operands, for JavaScript is given no parentheses."""
        match node:
            case _ if any(node is expr for expr in self._in_parentheses):
                return nodes.Not(node, lineno=line)
            case nodes.Compare(expr=first, ops=[nodes.Operand(op=kind), *_]) if kind not in {"in", "notin"}:
                node.expr = self._denied(first, line)
            case nodes.Add() | nodes.Sub() | nodes.Mul() | nodes.Div() | nodes.Mod():
                node.left = self._denied(node.left, line)
            case nodes.Concat():
                node.nodes[0] = self._denied(node.nodes[0], line)
            case _:
                return nodes.Not(node, lineno=line)
        return node

    def _contained(self) -> nodes.Expr:
        left = self._parse_test()
        while True:
            line = self.stream.current.lineno
            if self.stream.skip_if("name:in"):
                left = nodes.Compare(left, [nodes.Operand("in", self._parse_test())], lineno=line)
            elif self.stream.current.test("name:not") and self.stream.look().test("name:in"):
                self.stream.skip(2)
                left = nodes.Compare(left, [nodes.Operand("notin", self._parse_test())], lineno=line)
            else:
                return left

    def _parse_test(self) -> nodes.Expr:
        left = self.parse_compare()
        line = self.stream.current.lineno
        if not self.stream.skip_if("name:is"):
            return left
        negated = self.stream.skip_if("name:not")
        name = self.stream.expect("name").value
        called = self.stream.current.type == "lparen"
        arguments = self.parse_call_args()[0] if called else []
        test = nodes.Test(left, name, arguments, [], None, None, lineno=line)
        return nodes.Not(test, lineno=line) if negated else test

    def parse_compare(self) -> nodes.Expr:
        """Returns whether values are equal, `===` and `!==` among that, of what comes before another."""
        left = self._ordered()
        while (kind := self.stream.current.type) in IDENTICAL:
            line = next(self.stream).lineno
            if self.stream.skip_if("assign"):
                kind = IDENTICAL[kind]
            left = nodes.Compare(left, [nodes.Operand(kind, self._ordered())], lineno=line)
        return left

    def _ordered(self) -> nodes.Expr:
        left = self.parse_concat()
        while (kind := self.stream.current.type) in _ORDERS:
            line = next(self.stream).lineno
            left = nodes.Compare(left, [nodes.Operand(kind, self.parse_concat())], lineno=line)
        return left

    def parse_concat(self) -> nodes.Expr:
        """Sums, differences and `~`, from the left."""
        left = self._multiplied()
        while True:
            line, kind = self.stream.current.lineno, self.stream.current.type
            if kind not in {"tilde", *_ADDED}:
                return left
            next(self.stream)
            right = self._multiplied()
            left = (
                nodes.Concat([left, right], lineno=line) if kind == "tilde" else _ADDED[kind](left, right, lineno=line)
            )

    def _multiplied(self) -> nodes.Expr:
        left, rest = self._divided()
        while True:
            for expr in rest:
                left = nodes.Mod(left, expr, lineno=expr.lineno)
            line, kind = self.stream.current.lineno, self.stream.current.type
            if kind not in _MULTIPLIED:
                return left
            next(self.stream)
            right, rest = self._divided()
            left = _MULTIPLIED[kind](left, right, lineno=line)

    def _divided(self) -> tuple[nodes.Expr, list[nodes.Expr]]:
        """An operand with those that follow it after `%`; `//` rounds all that it stands among."""
        left, rest = self._remainders()
        while self.stream.current.type == "floordiv":
            line = next(self.stream).lineno
            for expr in rest:
                left = nodes.Mod(left, expr, lineno=line)
            right, rest = self._remainders()
            left = nodes.Div(left, right, lineno=line)
            for expr in rest:
                left = nodes.Mod(left, expr, lineno=line)
            left, rest = nodes.FloorDiv(left, nodes.Const(1, lineno=line), lineno=line), []
        return left, rest

    def _remainders(self) -> tuple[nodes.Expr, list[nodes.Expr]]:
        left, rest = self.parse_pow(), list[nodes.Expr]()
        while self.stream.skip_if("mod"):
            rest.append(self.parse_pow())
        return left, rest

    def parse_subscript(self, node: nodes.Expr) -> nodes.Getattr | nodes.Getitem:
        """A member; a number does not stand behind a dot."""
        if self.stream.current.type == "dot" and self.stream.look().type != "name":
            self.fail("expected a name behind the dot", self.stream.current.lineno)
        return super().parse_subscript(node)

    def parse_filter_expr(self, node: nodes.Expr) -> nodes.Expr:
        """Filters and calls; `is` is looser."""
        while True:
            if self.stream.current.type == "pipe":
                filtered = self.parse_filter(node)
                assert filtered is not None, "there is a filter after the pipe"
                node = filtered
            elif self.stream.current.type == "lparen":
                node = self.parse_call(node)
            else:
                return node

    def parse_primary(self, with_namespace: bool = False) -> nodes.Expr:  # noqa: FBT001, FBT002  as Jinja2 has it
        """A name or a value; `null` is a value, and Python's names are none."""
        token = self.stream.current
        if token.type == REGEX:
            return self._regex()
        if token.test("name:null"):
            return nodes.Const(None, lineno=next(self.stream).lineno)
        if token.test_any("name:True", "name:False", "name:None"):
            return nodes.Name(next(self.stream).value, "load", lineno=token.lineno)
        made = super().parse_primary(with_namespace=with_namespace)
        if token.type == "lparen":
            self._in_parentheses.append(made)
        return made

    def _regex(self) -> nodes.Const:
        token = next(self.stream)
        source, _, flags = token.value.removeprefix("r/").rpartition("/")
        if "y" in flags:
            self.fail("the flag y of a regular expression is not supported", token.lineno)
        try:
            return nodes.Const(JsRegExp(source.replace(r"\/", "/"), flags), lineno=token.lineno)
        except InvalidRecordError as error:
            self.fail(error.reason, token.lineno)


class _NunjucksLexer(Lexer):
    """Jinja2's tokens, and `r/…/`."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        for state in (TOKEN_VARIABLE_BEGIN, TOKEN_BLOCK_BEGIN):
            rules = self.rules[state]
            rules.insert(0, rules[0]._replace(pattern=_REGEX, tokens=REGEX, command=None))


@cache
def _lexer(environment: Environment) -> Lexer:
    return _NunjucksLexer(environment)


class NunjucksEnvironment(Environment):
    """Reads templates by that grammar; nothing is ever compiled."""

    @property
    def lexer(self) -> Lexer:
        """The lexer of Nunjucks' tokens."""
        return _lexer(self)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        return NunjucksParser(self, source, name, filename).parse()


def parsed(template: str) -> nodes.Template:
    """The template's nodes; raises jinja2's `TemplateSyntaxError`."""
    return _ENVIRONMENT.parse(template)


_ENVIRONMENT = NunjucksEnvironment(keep_trailing_newline=True, autoescape=False, cache_size=0)
