"""An application behind an address that answers a config's prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from pydantic import JsonValue
from pydantic_core import from_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.assertions.kinds.snippets import as_called
from minions_evals_mcp.scoring.checks import Broke
from minions_evals_mcp.scoring.nunjucks import rendered, rendered_within
from minions_evals_mcp.targets.exchange import Asking
from minions_evals_mcp.targets.http import Question, Web, fetched
from minions_evals_mcp.targets.prompted import Prompt
from minions_evals_mcp.targets.responders import in_time, returned


def says_json(headers: Mapping[str, str]) -> bool:
    """Whether the headers say that the body is JSON."""
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
                found: JsonValue = json.loads(value)
            except (ValueError, RecursionError):
                return value
            return found
        case list():
            return [_opened(one) for one in value]
        case dict():
            return {name: _opened(one) for name, one in value.items()}
        case _:
            return value


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class Address:
    """An application behind an address; `{{prompt}}` and the test's variables are filled into its address, headers and body."""

    name: str
    question: Question
    query: Mapping[str, str]
    web: Web
    snippets: Snippets
    transform: str | None = None
    escaped: bool = False
    """Whether values are filled in as they stand in a JSON string, wherever it is: nothing else is made of the body then."""
    flat: bool = False
    """Whether a filled string of the body stays a text, also where it is JSON."""

    async def answer(self, prompt: Prompt, asked: Asking) -> Observed | TargetErrored:
        """What the application answered, or the part of it that the transform gives."""
        found, latency_ms = await in_time(asked, lambda: fetched(self.web, self._filled(prompt)))
        if found is None:
            return asked.too_late(latency_ms)
        if isinstance(found, TargetErrored):
            return replace(found, reason=f"{self.name}: {found.reason}")
        read = await self._read(found, prompt)
        return read if isinstance(read, TargetErrored) else read.model_copy(update={"latency_ms": latency_ms})

    def _filled(self, prompt: Prompt) -> Question:
        names: Json = {**prompt.variables, "prompt": prompt.text}
        names = _escaped(names) if self.escaped else names
        asked = self.question
        query = urlencode({key: rendered(value, names) for key, value in self.query.items()})
        url = rendered(asked.url, names)
        headers = {key: rendered(value, names) for key, value in asked.headers.items()}
        body = None if asked.json is None else rendered_within(asked.json, names)
        body = body if self.flat else _opened(body)
        joined = f"{url}{'&' if '?' in url else '?'}{query}" if query else url
        as_json = says_json(headers) and not self.escaped
        text = None if asked.text is None else _filled_text(asked.text, names, as_json=as_json)
        return Question(asked.method, joined, headers, body, text)

    async def _read(self, body: bytes, prompt: Prompt) -> Observed | TargetErrored:
        text = body.decode("utf-8", "replace")
        try:
            value: JsonValue = from_json(body, allow_inf_nan=False)
        except ValueError:
            value = None
        if self.transform is None:
            return Observed(output={"output": text if value is None else value})
        context: Json = {"vars": prompt.variables}
        given: Json = {"json": value, "text": text, "context": context}
        found = await self.snippets.run("javascript", as_called(self.transform, "json, text, context"), given)
        if isinstance(found, Broke):
            return TargetErrored(f"{self.name}: transformResponse failed: {found.error}")
        if found.value is None:
            return TargetErrored(f"{self.name}: transformResponse gave nothing")
        inner = found.value
        if isinstance(inner, dict) and "output" in inner:
            return returned(inner, Asking(self.name, None, None, 0.0), 0.0, {})
        return Observed(output={"output": inner})
