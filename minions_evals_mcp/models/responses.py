"""OpenAI's Responses interface: what a request is there, and what a reply says, told as promptfoo tells it.

A model is asked there where its name begins with `responses:`. Settings by the names that the chat interface has for them
(`max_tokens`, `response_format`, `reasoning_effort`, tools with `function` inside) are said as this interface wants them.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import Count
from minions_evals_mcp.models.faults import AttemptFault, malformed
from minions_evals_mcp.models.replies import Answered, Completion, RefusedReply, TokenUsage, Truncated
from minions_evals_mcp.models.request import ModelRequest

RESPONSES = "responses:"
OPTIONS = (
    "max_output_tokens", "max_tokens", "max_completion_tokens", "instructions", "temperature", "top_p", "reasoning",
    "reasoning_effort", "verbosity", "response_format", "text", "tools", "tool_choice", "parallel_tool_calls",
    "max_tool_calls", "truncation", "metadata", "store", "service_tier", "include", "user",
)  # fmt: skip
"""What a config may set of a request."""
NO_ARGUMENTS = "the function call has no arguments"


class _Part(BaseModel):
    """A part of a reply; what we do not read may be anything."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _Cached(_Part):
    cached_tokens: Count = 0


class _Tokens(_Part):
    input_tokens: Count
    output_tokens: Count
    input_tokens_details: _Cached = _Cached()


class _Why(_Part):
    reason: str = ""


class _Error(_Part):
    message: str = ""


class _Response(_Part):
    model: str = ""
    status: str = "completed"
    output: list[dict[str, JsonValue]] = Field(default_factory=list[dict[str, JsonValue]])
    usage: _Tokens | None = None
    incomplete_details: _Why | None = None
    error: _Error | None = None


def responses_body(request: ModelRequest) -> Json:
    """The request's body."""
    params = dict(request.params)
    messages = params.pop("messages", None)
    body: Json = {
        "model": request.model.removeprefix(RESPONSES),
        "input": messages or _input(request),
        "max_output_tokens": params.pop("max_output_tokens", request.max_tokens),
        "text": _text(params, request.schema),
    }
    if effort := params.pop("reasoning_effort", None):
        body["reasoning"] = {"effort": effort}
    if isinstance(tools := params.pop("tools", None), list):
        body["tools"] = [_flat(tool) for tool in tools]
    if (choice := params.pop("tool_choice", None)) is not None:
        body["tool_choice"] = _flat(choice)
    return {**body, **params}


def read_response(content: bytes) -> Answered | AttemptFault:
    """Returns what the model says, piece by piece on lines of their own; why it says nothing."""
    try:
        response = _Response.model_validate_json(content)
    except ValidationError as error:
        return malformed(error)
    if response.error is not None or response.status == "failed":
        return AttemptFault(
            "permanent", f"the response failed: {response.error.message if response.error else 'no reason given'}"
        )
    refusal = "\n".join(_texts(response.output, "refusal"))
    pieces = [piece for item in response.output if (piece := _piece(item))]
    if not pieces and not refusal:
        return AttemptFault("malformed", "malformed reply: output: no text")
    cut = response.incomplete_details.reason if response.incomplete_details and response.status == "incomplete" else ""
    usage = response.usage and TokenUsage(
        response.usage.input_tokens, response.usage.output_tokens, response.usage.input_tokens_details.cached_tokens
    )
    parts = ("\n".join(pieces), response.model, cut or "stop", usage)
    if refusal:
        return RefusedReply(*parts, explanation=refusal)
    return Truncated(*parts) if cut else Completion(*parts)


def _input(request: ModelRequest) -> JsonValue:
    if request.system is None:
        return request.user
    return [{"role": "system", "content": request.system}, {"role": "user", "content": request.user}]


def _text(params: Json, schema: Json | None) -> Json:
    """The form of the answer, out of what the chat interface calls `response_format` and `verbosity`."""
    own = params.pop("text", None)
    form = params.pop("response_format", None)
    verbosity = params.pop("verbosity", None)
    text: Json = {"format": _format(form, schema), **(own if isinstance(own, dict) else {})}
    return text if verbosity is None else {**text, "verbosity": verbosity}


def _format(form: JsonValue, schema: Json | None) -> Json:
    if schema is not None:
        return {"type": "json_schema", "name": "answer", "strict": True, "schema": schema}
    if not isinstance(form, dict) or form.get("type") not in {"json_schema", "json_object"}:
        return {"type": "text"}
    if form["type"] == "json_object":
        return {"type": "json_object"}
    inner = form.get("json_schema")
    held = {**form, **(inner if isinstance(inner, dict) else {})}
    return {
        "type": "json_schema", "name": held.get("name") or "response_schema", "strict": True, "schema": held.get("schema"),
    }  # fmt: skip


def _flat(tool: JsonValue) -> JsonValue:
    """A tool, or a choice of one, whose function stands beside its type."""
    if not isinstance(tool, dict) or not isinstance(function := tool.get("function"), dict):
        return tool
    return {**{name: value for name, value in tool.items() if name != "function"}, **function}


def _piece(item: Json) -> str:
    piece_text = _TOLD.get(str(item.get("type")))
    return "" if piece_text is None else piece_text(item)


def _texts(items: list[Json], kind: str) -> list[str]:
    """The texts of that kind in messages."""
    parts = [part for item in items if item.get("type") == "message" for part in _listed(item.get("content"))]
    key = "refusal" if kind == "refusal" else "text"
    return [str(part.get(key, "")) for part in parts if part.get("type") == kind]


def _listed(value: JsonValue) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _message(item: Json) -> str:
    return "".join(_texts([item], "output_text"))


def _function_call(item: Json) -> str:
    if item.get("arguments") == "{}" and item.get("status") == "completed":
        item = {**item, "status": "no_arguments_provided", "note": NO_ARGUMENTS}
        return json.dumps({name: item.get(name) for name in ("type", "name", "status", "note")}, ensure_ascii=False)
    return json.dumps(item, ensure_ascii=False, separators=(",", ":"))


def _reasoning(item: Json) -> str:
    summaries = [str(summary.get("text", "")) for summary in _listed(item.get("summary"))]
    reasoning = "\n".join(summaries)
    return f"Reasoning: {reasoning}" if reasoning else ""


def _web_search(item: Json) -> str:
    action = item.get("action")
    if not isinstance(action, dict):
        return f"Web Search Call (status: {item.get('status') or 'unknown'})"
    return {
        "search": f'Web Search: "{action.get("query")}"',
        "open_page": f"Opening page: {action.get('url')}",
        "find_in_page": f'Finding in page: "{action.get("query")}"',
    }.get(str(action.get("type")), f"Web action: {action.get('type')}")


def _mcp_call(item: Json) -> str:
    failed = item.get("error")
    head = f"MCP Tool {'Error' if failed else 'Result'} ({item.get('name')})"
    return f"{head}: {failed or item.get('output')}"


_TOLD: dict[str, Callable[[Json], str]] = {
    "message": _message,
    "function_call": _function_call,
    "reasoning": _reasoning,
    "web_search_call": _web_search,
    "code_interpreter_call": lambda item: f"Code Interpreter: {item.get('code') or 'Running code...'}",
    "mcp_call": _mcp_call,
}
"""How each kind of piece is told; of any other nothing is."""
