"""`python` and `javascript`: checks that a user wrote as code, which ran in a sandbox beforehand.

The code is one line, an expression, or lines that return, as in promptfoo: lines that return nothing give no verdict,
whatever stands in the last. In it are `output` (a text, or the JSON value that the output is) and
`context` (see there). It gives a verdict as a Boolean, as a number (the score: passes from `threshold`, without one above
0) or as {pass, score, reason}, which may also give metrics (`namedScores`) and the verdicts that it is made of
(`componentResults`). Under `not-` the verdict turns round and a score stays.
"""

from __future__ import annotations

import ast
import builtins
import re
from functools import lru_cache

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.assertions.kinds.code_context import given_to_check, given_to_transform
from minions_evals_mcp.scoring.assertions.kinds.code_verdicts import NoVerdict, verdict_of
from minions_evals_mcp.scoring.checks import Evidence, Language, Ran, SnippetError, SnippetNeed, Subject, Unmet
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

CODE_LIMIT = 20_000
_GIVEN = frozenset(
    {"output", "context", "json", "math", "re", "statistics", "mean", "fmean", "median", "stdev", "pstdev", "variance",
     "pvariance", *dir(builtins)}
)  # fmt: skip
_FENCE = late(r" {0,3}(`{3,}|~{3,})[ \t]*([\w+-]*)")
_PYTHON = frozenset({"python", "py", "python3"})
_OWN_MISTAKES = frozenset({"NameError", "ReferenceError"})
_OF_NODE = frozenset({
    "AbortController", "AbortSignal", "Blob", "Buffer", "BroadcastChannel", "CompressionStream", "CustomEvent",
    "DOMException", "Event", "EventTarget", "File", "FormData", "Headers", "Intl", "MessageChannel", "Navigator",
    "Performance", "ReadableStream", "Request", "Response", "TextDecoder", "TextEncoder", "TransformStream", "URL",
    "URLSearchParams", "WebAssembly", "WebSocket", "WritableStream", "__dirname", "__filename", "atob", "btoa",
    "clearImmediate", "clearInterval", "clearTimeout", "crypto", "exports", "fetch", "global", "module", "navigator",
    "performance", "process", "queueMicrotask", "require", "setImmediate", "setInterval", "setTimeout",
    "structuredClone",
})  # fmt: skip
"""Names that Node defines, and the sandbox does not."""
_NO_ATTRIBUTE = late(r"AttributeError: '(?:str|dict|list|int|float|bool)' object has no attribute '(\w+)'")
OF_MODULE = "// a function of a module, without what stands around it there"
"""What code begins with that was a function: what it names beside its arguments may be defined there."""
_UNDEFINED = late(r"ReferenceError: ['\"]?([\w$]+)")
PYTHON = "#!python\n"
"""What a transform in Python begins with: lines that return."""


def python(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """The Python in `value` says so, or none of its `assert` statements fails.

    Statements that assert and name what they do not define run after the output's own code, its fence stripped.
    """
    return _checked(assertion, subject, evidence, "python")


def javascript(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """The JavaScript in `value` says so."""
    return _checked(assertion, subject, evidence, "javascript")


def python_needs(assertion: Assertion, subject: Subject) -> tuple[SnippetNeed, ...]:
    """The run that `python` will look up."""
    return (_need(assertion, subject, "python"),)


def javascript_needs(assertion: Assertion, subject: Subject) -> tuple[SnippetNeed, ...]:
    """The run that `javascript` will look up."""
    return (_need(assertion, subject, "javascript"),)


def vet_code(assertion: Assertion) -> None:
    """Refuses a `value` that is no code: nothing, no text, too long a text, or the name of a file."""
    vet_source(assertion.value)


def vet_source(code: JsonValue) -> None:
    """Refuses what is no code, as above."""
    if not isinstance(code, str) or not code.strip():
        raise InvalidRecordError(f"must be code, not {excerpt(code)}", field="value")
    if code.startswith("file://"):
        raise InvalidRecordError(
            f"{excerpt(code)} is a file, which only a config that a person runs with `eval` may name", field="value"
        )
    if len(code) > CODE_LIMIT:
        raise InvalidRecordError(f"has more than {CODE_LIMIT:,} characters", field="value")


_FUNCTION = late(r"((async\s+)?function\b|[\w$]+\s*=>|\([\w$,\s{}]*\)\s*=>)")


def as_called(code: str, arguments: str) -> str:
    """JavaScript that gives what the code gives; a function is called with those arguments."""
    plain = code.strip().rstrip(";")
    return f"({plain})({arguments})" if _FUNCTION.match(plain) else code


def as_transform(code: str, arguments: str) -> str:
    """The same for a transform: one line is an expression, and lines that return nothing give nothing."""
    made = as_called(code, arguments)
    return made if made != code else f"{code}\n;return undefined;" if "\n" in code else f"return {code}"


def transform_run(written: str, subject: Subject) -> SnippetNeed:
    """The run of code that is written as a transform."""
    in_python = written.startswith(PYTHON)
    code = written.removeprefix(PYTHON) if in_python else as_transform(written, "output, context")
    variables, guards = given_to_transform(code, subject)
    return SnippetNeed("python" if in_python else "javascript", code, variables, guards=guards)


def _need(assertion: Assertion, subject: Subject, language: Language) -> SnippetNeed:
    written = str(assertion.value)
    code = written.strip()
    under_test = language == "python" and _tests_the_output(code)
    variables, guards = given_to_check(code, subject, assertion.config, language)
    body = _python_body(written) if language == "python" else javascript_body(written)
    return SnippetNeed(language, body, variables, own_code(subject.text) if under_test else "", guards)


def _python_body(written: str) -> str:
    """Python that gives what promptfoo has of it: the value of one line, what lines return; asserts are our own."""
    code = written.strip()
    if _asserts(code):
        return code
    if "\n" not in written:
        return f"return {code}"
    return code if code.rpartition("\n")[2].startswith("return ") else f"{code}\nreturn None"


_QUOTED = late(r"""(?<!\\)(?:'(?:\\.|[^'\\])*+'|"(?:\\.|[^"\\])*+"|`(?:\\.|[^`\\])*+`)""")


@lru_cache(maxsize=256)
def javascript_body(written: str) -> str:
    """JavaScript likewise: one line that begins with a declaration gives what stands behind its last semicolon."""
    code = written.strip()
    if "\n" in written.rstrip():
        return f"{code}\n;return undefined;"
    code = code.rstrip("; ")
    if not re.match(r"(const|let|var)\s", code):
        return f"return {code}"
    last = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), code).rfind(";")
    return f"{code[: last + 1]} return {code[last + 1 :]}" if last >= 0 else f"{code}\n;return undefined;"


@lru_cache(maxsize=256)
def _asserts(code: str) -> bool:
    """Returns whether the Python is made of statements that assert, and returns nothing."""
    nodes = _nodes(code)
    return any(isinstance(node, ast.Assert) for node in nodes) and not any(
        isinstance(node, ast.Return) for node in _outside_functions(code)
    )


@lru_cache(maxsize=256)
def _tests_the_output(code: str) -> bool:
    """Returns whether the Python asserts, and names what neither it nor the sandbox defines."""
    if not _asserts(code):
        return False
    named, defined = set[str](), set[str](_GIVEN)
    for node in _nodes(code):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                named.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                defined.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                defined.add(name)
            case ast.alias(name=name, asname=other):
                defined.add(other or name.partition(".")[0])
            case _:
                pass
    return bool(named - defined)


def _nodes(code: str) -> list[ast.AST]:
    try:
        return list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the sandbox says what is wrong with it
        return []


def _outside_functions(code: str) -> list[ast.AST]:
    """The statements that are not inside a function of the code's own."""
    nodes = list[ast.AST]()
    waiting = list[ast.AST](ast.parse(code).body)
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return nodes


def own_code(output: str) -> str:
    """The code in an output: its blocks of Python, else its first block, else all of it."""
    blocks = _blocks(output)
    tagged = [body for language, body in blocks if language in _PYTHON]
    return "\n".join(tagged or [body for _, body in blocks[:1]]) or output


def _blocks(output: str) -> list[tuple[str, str]]:
    """The fenced blocks, each with the language that it names; one that is never closed goes to the end."""
    blocks = list[tuple[str, list[str]]]()
    fence = ""
    for line in output.split("\n"):
        bare = line.strip()
        if not fence:
            if opened := _FENCE.match(line):
                fence = opened[1]
                blocks.append((opened[2].lower(), []))
        elif len(bare) >= len(fence) and bare == fence[0] * len(bare):
            fence = ""
        else:
            blocks[-1][1].append(line)
    return [(language, "\n".join(lines)) for language, lines in blocks]


def _checked(
    assertion: Assertion, subject: Subject, evidence: Evidence, language: Language
) -> UnweightedResult | Unmet:
    need = _need(assertion, subject, language)
    match evidence.snippets.get(need):
        case None:
            return Unmet("the code was not run")
        case SnippetError() as broke:
            if need.code.startswith(OF_MODULE) and broke.name == "ReferenceError":
                return Unmet(f"{broke.error}: the function is run without its module; write it into a file of its own")
            return _failed(assertion, broke, tests_the_output=need.before != "", of_config=subject.of_config)
        case Ran(value):
            asserted = value is None and language == "python" and _asserts(str(assertion.value).strip())
            passing = UnweightedResult(passed=True, reason="nothing was raised") if asserted else None
            passing = passing or verdict_of(assertion, value, language)
            gone_wrong = isinstance(passing, NoVerdict) and subject.of_config
            return _against(assertion, passing.reason) if gone_wrong else passing


def _failed(
    assertion: Assertion, broke: SnippetError, *, tests_the_output: bool, of_config: bool
) -> UnweightedResult | Unmet:
    """Returns what was raised fails the check, as it does in promptfoo also under `not-`; anything else is the instrument's failure.

    So is a name that the code uses and nobody defines, or a method that no value of JSON has, unless the output was to
    define it, and code that does not parse;
    in a config of promptfoo's both fail the check, unless the name is one of Node's.
    """
    of_node = _UNDEFINED.search(broke.error)
    mistaken = broke.kind == "syntax" or (
        broke.name in _OWN_MISTAKES and not (of_node is not None and of_node[1] in _OF_NODE)
    )
    if mistaken and of_config:
        return _against(assertion, broke.error)
    misnamed = broke.name in _OWN_MISTAKES or (not of_config and _misspelt(broke))
    if broke.kind != "raised" or (misnamed and not tests_the_output):
        return Unmet(broke.error)
    if broke.name == "AssertionError":
        return UnweightedResult(passed=False, reason=broke.error)
    return _against(assertion, f"raised {broke.error}")


def _misspelt(broke: SnippetError) -> bool:
    """Returns whether the code reads what no value of JSON has, whatever the output: `output.strp()`."""
    read = _NO_ATTRIBUTE.search(broke.error)
    return read is not None and not any(hasattr(kind, read[1]) for kind in (str, dict, list, int, float, bool))


def _against(assertion: Assertion, reason: str) -> UnweightedResult:
    """A check that fails, also under `not-`."""
    return UnweightedResult(passed=assertion.negated, reason=reason, score=0.0, negated_score=0.0)


TYPES: dict[str, AssertionKind] = {
    "javascript": AssertionKind(javascript, vet_code, javascript_needs),
    "python": AssertionKind(python, vet_code, python_needs),
}
