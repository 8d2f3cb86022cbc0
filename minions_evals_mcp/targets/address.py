"""An application behind an address that answers a config's prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from pydantic import JsonValue
from pydantic_core import from_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outcomes import AnswerFacts, Observed, TargetErrored
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.assertions.kinds.snippets import as_called
from minions_evals_mcp.scoring.checks import Ran, SnippetError
from minions_evals_mcp.scoring.nunjucks.templates import rendered, rendered_within
from minions_evals_mcp.targets.exchange import TargetQuestion
from minions_evals_mcp.targets.http import Answered, ApplicationConnections, HttpQuestion, answered
from minions_evals_mcp.targets.prompted import RenderedPrompt
from minions_evals_mcp.targets.responders import in_time, returned


def says_json(headers: Mapping[str, str]) -> bool:
    """Returns whether the headers say that the body is JSON."""
    return any("application/json" in value for name, value in headers.items() if name.lower() == "content-type")


def _filled_text(template: str, names: Json, *, as_json: bool) -> str:
    """The body with its places filled; one that must be JSON and is none, with the values written as in a JSON string."""
    text = rendered(template, names)
    if not as_json or _is_json(text):
        return text if as_json else text.strip()
    inside = rendered(template, _escaped(names))
    return inside if _is_json(inside) else text


def _escaped(names: Json) -> Json:
    """The texts among the values as they stand in a JSON string."""
    return {
        name: json.dumps(value, ensure_ascii=False)[1:-1] if isinstance(value, str) else value
        for name, value in names.items()
    }


def _opened(value: JsonValue) -> JsonValue:
    """The value with every text in it that is a JSON object or list, as messages are, as that."""
    match value:
        case str() if value.lstrip().startswith(("{", "[")):
            try:
                document: JsonValue = json.loads(value)
            except (ValueError, RecursionError):
                return value
            return document
        case list():
            return [_opened(item) for item in value]
        case dict():
            return {name: _opened(item) for name, item in value.items()}
        case _:
            return value


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class AddressCode:
    """JavaScript of the user's around a request: what reads the answer, makes the body's prompt, says whether a status will do."""

    snippets: Snippets
    transform: str | None = None
    asking: str | None = None
    will_do: str | None = None

    async def prompt(self, prompt: RenderedPrompt) -> Ran | SnippetError:
        """Returns what stands in the body for the prompt."""
        if self.asking is None:
            return Ran(prompt.text)
        return await self._run(
            self.asking, {"prompt": prompt.text, "vars": prompt.variables, "context": {"vars": prompt.variables}}
        )

    async def accepted(self, answer: Answered) -> Answered | TargetErrored:
        """The answer, where its status will do."""
        if self.will_do is None:
            return answer.unless_refused()
        outcome = await self._run(self.will_do, {"status": answer.status})
        if isinstance(outcome, SnippetError):
            return TargetErrored(f"validateStatus failed: {outcome.error}")
        if outcome.value:
            return answer
        refused = answer.unless_refused()
        return (
            refused
            if isinstance(refused, TargetErrored)
            else TargetErrored(f"validateStatus refuses the status {answer.status}")
        )

    async def output(self, answer: Answered, value: JsonValue, text: str) -> Ran | SnippetError:
        """Returns what the answer says, in the words of the code that reads it."""
        assert self.transform is not None
        headers: Json = {**answer.headers}
        response: Json = {
            "data": text,
            "status": answer.status,
            "statusText": answer.said,
            "headers": headers,
            "cached": False,
        }
        return await self._run(self.transform, {"json": value, "text": text, "context": {"response": response}})

    async def _run(self, code: str, arguments: Json) -> Ran | SnippetError:
        return await self.snippets.run("javascript", as_called(code, ", ".join(arguments)), arguments)


@dataclass(frozen=True, slots=True)
class Address:
    """An application behind an address; `{{prompt}}` and the test's variables are filled into its address, headers and body."""

    name: str
    question: HttpQuestion
    query: Mapping[str, str]
    web: ApplicationConnections
    code: AddressCode
    escaped: bool = False
    """Whether values are filled in as they stand in a JSON string, wherever it is: nothing else is made of the body then."""
    flat: bool = False
    """Whether a filled string of the body stays a text, also where it is JSON."""

    async def answer(self, prompt: RenderedPrompt, question: TargetQuestion) -> Observed | TargetErrored:
        """Returns what the application answered, or the part of it that the transform gives."""
        written = await self.code.prompt(prompt)
        if isinstance(written, SnippetError):
            return TargetErrored(f"{self.name}: transformRequest failed: {written.error}")
        answer, latency_ms = await in_time(question, lambda: answered(self.web, self._filled(prompt, written.value)))
        if answer is None:
            return question.too_late(latency_ms)
        answer = await self.code.accepted(answer) if isinstance(answer, Answered) else answer
        if isinstance(answer, TargetErrored):
            return replace(answer, reason=f"{self.name}: {answer.reason}")
        read = await self._read(answer)
        return read if isinstance(read, TargetErrored) else read.model_copy(update={"latency_ms": latency_ms})

    def _filled(self, prompt: RenderedPrompt, request_given: JsonValue) -> HttpQuestion:
        """The request; in its body `request_given` stands for the prompt: an object adds its keys to a body of JSON."""
        names: Json = {**prompt.variables, "prompt": request_given if self.escaped else prompt.text}
        names = _escaped(names) if self.escaped else names
        question = self.question
        query = urlencode({key: rendered(value, names) for key, value in self.query.items()})
        url = rendered(question.url, names)
        headers = {key: rendered(value, names) for key, value in question.headers.items()}
        if prompt.trace is not None:
            headers["traceparent"] = prompt.trace.traceparent
        joined = f"{url}{'&' if '?' in url else '?'}{query}" if query else url
        as_json = says_json(headers) and not self.escaped
        if as_json and isinstance(request_given, dict):
            return HttpQuestion(
                question.method,
                joined,
                headers,
                {**(question.json if isinstance(question.json, dict) else {}), **request_given},
            )
        names = names if self.escaped else {**names, "prompt": request_given}
        body = None if question.json is None else rendered_within(question.json, names)
        body = body if self.flat else _opened(body)
        text = None if question.text is None else _filled_text(question.text, names, as_json=as_json)
        return HttpQuestion(question.method, joined, headers, body, text)

    async def _read(self, answer: Answered) -> Observed | TargetErrored:
        text = answer.body.decode("utf-8", "replace")
        try:
            value: JsonValue = from_json(answer.body, allow_inf_nan=False)
        except ValueError:
            value = None
        if self.code.transform is None:
            return _heard(text if value is None else value, answer)
        outcome = await self.code.output(answer, value, text)
        if isinstance(outcome, SnippetError):
            return TargetErrored(f"{self.name}: transformResponse failed: {outcome.error}")
        if outcome.value is None:
            return TargetErrored(f"{self.name}: transformResponse returned nothing")
        inner = outcome.value
        if isinstance(inner, dict) and "output" in inner:
            return returned(inner, TargetQuestion(self.name, None, None, 0.0), 0.0, {})
        return _heard(inner, answer)


def _heard(output: JsonValue, answer: Answered) -> Observed:
    """The output, with what is told of the answer beside it; headers may hold secrets, and are not kept."""
    http: Json = {"status": answer.status, "statusText": answer.said}
    return Observed(output={"output": output}, told=AnswerFacts(response={"metadata": {"http": http}}))
