"""`context`: what a person's code is told beside the output, by promptfoo's names, and which of them stand for nothing.

promptfoo gives a snippet `prompt`, `vars`, `test`, `provider`, `providerResponse`, and where there are any `config`,
`metadata`, `logProbs` and `trace`. Code that reads what is none of these, or what is not known of an output here, gives
no verdict: in JavaScript it would read `undefined` and go on, to a confident wrong answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.assertions.kinds.graded import shown_variables
from minions_evals_mcp.scoring.checks import Guards, Language, Subject
from minions_evals_mcp.scoring.reserved_inputs import COUNTED_SPANS

NAME = "context"
_COMPUTED = late(rf"\b{NAME}\s*\[\s*[^\s'\"`]")
"""A read by a name that is known only when the code runs."""
_PARSED = late(r"\b(?:JSON\.parse|json\.loads)\(\s*output(?:\.(?:trim|strip)\(\))?\s*[,)]")
_KEY_READ = late(r"""\boutput(?:\.get\(\s*["'](.*?)["']|\??\.(\w+)|(?:\?\.)?\[\s*["'`](.*?)["'`]\s*\])""")
_WHOLE_READ = late(r"\bObject\.\w+\(\s*output\b|\bisinstance\(\s*output\s*,\s*dict|\boutput\.(?:keys|items|values)\(\)")
CODE = frozenset({"python", "javascript"})
UNSAID = ("metadata", "logProbs")
"""Keys that are not there where the provider's whole answer is known and says nothing of the kind."""


class SnippetContext(NamedTuple):
    """The surroundings of a snippet: its variables as a JSON object, and of which of them only what is there may be read."""

    variables: str
    guards: Guards = ()


def given_to_check(code: str, subject: Subject, config: JsonValue, language: Language) -> SnippetContext:
    """Returns what a check is given: the output, and `context` as far as the code could look at it."""
    variables, output = shown_variables(subject), _given_output(code, subject)
    if NAME not in code:
        return SnippetContext(as_given({"output": output, NAME: {"vars": variables}}))
    wire: Json = dict(subject.facts)
    provider = wire.get("provider")
    if language == "python" and isinstance(provider, dict):  # a function there, which does not reach Python
        wire["provider"] = {name: value for name, value in provider.items() if name != "id"}
    trace = wire.get("trace")
    if isinstance(trace, dict) and COUNTED_SPANS in trace:
        wire["trace"] = {name: value for name, value in trace.items() if name != COUNTED_SPANS}
    context: Json = {**wire, "vars": variables, **({} if config is None else {"config": config})}
    return SnippetContext(as_given({"output": output, NAME: context}), _guards(subject, "config", "trace"))


def given_to_transform(code: str, subject: Subject) -> SnippetContext:
    """Returns what a check's transform is given: the output, and `context` with the variables, the prompt and the metadata."""
    context, output = Json({"vars": shown_variables(subject)}), _given_output(code, subject)
    if NAME not in code:
        return SnippetContext(as_given({"output": output, NAME: context}))
    facts = subject.facts
    if "prompt" in facts:
        context["prompt"] = {"label": facts["prompt"]}
    if "metadata" in facts:
        context["metadata"] = facts["metadata"]
    return SnippetContext(
        as_given({"output": output, NAME: context}), ((NAME, _unsaid(subject)), *_of_address(subject))
    )


def code_reads(assertions: Iterable[Assertion], name: str) -> bool:
    """Returns whether code among those assertions, or inside their sets, may read that name in `context`."""
    for assertion in assertions:
        given = assertion.value_code.code if assertion.value_code else None
        texts = (assertion.value if assertion.base_type in CODE else None, assertion.transform, given)
        if any(isinstance(text, str) and NAME in text and (name in text or _COMPUTED.search(text)) for text in texts):
            return True
        if code_reads(assertion.assertions, name):
            return True
    return False


def _given_output(code: str, subject: Subject) -> JsonValue:
    """The output as code sees it: a text, or the value that it is.

    Of a record that a program answered with, code that parses the output has all of it as JSON text, and code that reads
    one of its keys (`output.answer`, `output["answer"]`) the record.
    """
    record = subject.record
    if record is not None:
        if _PARSED.search(code):
            return subject.printed
        if _WHOLE_READ.search(code) or any(key in record for read in _KEY_READ.findall(code) for key in read if key):
            return record
    return subject.text if subject.value is None else subject.value


def as_given(variables: Mapping[str, JsonValue]) -> str:
    """The variables of a snippet as JSON."""
    given = json.dumps(variables, ensure_ascii=False)
    if not given.isascii():  # half a character would reach neither language
        given = given.encode("utf-8", "replace").decode()
    return given


def _unsaid(subject: Subject) -> tuple[str, ...]:
    return UNSAID if subject.whole_response else ()


def _guards(subject: Subject, *absent: str) -> Guards:
    """`context` itself, its provider, and the answer where only parts of that are known."""
    answer: Guards = () if subject.whole_response else ((f"{NAME}.providerResponse", ()),)
    return (
        (NAME, (*absent, *_unsaid(subject))),
        (f"{NAME}.provider", ("label",)),
        *answer,
        *_of_trace(subject),
        *_of_address(subject),
    )


def _of_address(subject: Subject) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The part of an application's answer of which the status is told, and not its headers."""
    metadata = None if subject.whole_response else subject.facts.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("http"), dict):
        yield f"{NAME}.metadata.http", ()
        yield f"{NAME}.providerResponse.metadata.http", ()


def _of_trace(subject: Subject) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The parts of the output's trace of which not all is known: its spans, or the number of its test."""
    trace = subject.facts.get("trace")
    if isinstance(trace, dict) and "traceId" in trace:
        if "spans" not in trace:
            yield f"{NAME}.trace", ()
        metadata = trace.get("metadata")
        if isinstance(metadata, dict) and not {"repeatIndex", "providerId"} <= metadata.keys():
            yield f"{NAME}.trace.metadata", ("commandToolNames", "otlpHttpRedactAttributes")
