"""The providers of a config: which of promptfoo's are carried out, and how each is set up."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outputs import json_texts
from minions_evals_mcp.engine.config_eval.evaluation import (
    AddressSpec,
    AgentSpec,
    EchoSpec,
    ModuleSpec,
    ProgramSpec,
    Provider,
    PythonSpec,
    Spec,
)
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.interop.promptfoo_config.providers.coding_agents import agent_spec
from minions_evals_mcp.interop.promptfoo_config.providers.models import HARMLESS, model_spec
from minions_evals_mcp.interop.promptfoo_config.providers.raw_request import raw_request
from minions_evals_mcp.interop.promptfoo_config.providers.simulated_user import SIMULATED_USER, simulated_user_spec
from minions_evals_mcp.interop.promptfoo_config.source import keys_there
from minions_evals_mcp.interop.promptfoo_config.source.agent_ids import agent_of
from minions_evals_mcp.interop.promptfoo_config.source.code import SCRIPTS, command_words, folder_of, runs_module
from minions_evals_mcp.interop.promptfoo_config.source.reading import YAML, Node, named_file, read_node, read_text
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals
from minions_evals_mcp.interop.promptfoo_config.source.snippets import transform_code
from minions_evals_mcp.scoring.nunjucks.templates import vet_template
from minions_evals_mcp.targets.code_files import files_digest, named_in
from minions_evals_mcp.targets.module_file import ModuleError, described

PARTS = ("id", "label", "config", "prompts", "transform", "delay")
FORM = "application/x-www-form-urlencoded"
RESPONSE, REQUEST, STATUS = "json, text, context", "prompt, vars, context", "status"
"""What a file's function is called with that reads an answer, makes the prompt of a request, or says whether a status will do."""
SECRET = re.compile(r"key|token(?!s)|secret|password|authorization|headers|cookie|signature", re.IGNORECASE)
"""Names in a provider's config under which what may be told to nobody may stand."""
HTTP = ("url", "method", "headers", "body", "queryParams", "transformRequest", "transformResponse", "responseParser",
        "validateStatus", "request", "useHttps")  # fmt: skip
HARMLESS_HTTP = {
    "maxRetries": HARMLESS["maxRetries"],
    "timeoutMs": HARMLESS["timeout"],
    "sessionParser": "a session id that the application gives is not saved",
    "tokenEstimation": "no tokens are estimated",
}


CodeSpec = EchoSpec | PythonSpec | ModuleSpec | ProgramSpec | AgentSpec | AddressSpec


@dataclass(frozen=True, slots=True)
class ListedProvider:
    """A provider with the prompts that it is asked; None: all of them."""

    provider: Provider
    prompts: tuple[str, ...] | None
    node: Node


def read_providers(node: Node, refusals: Refusals) -> list[ListedProvider]:
    """The providers in order; one that is not supported is refused, and left out."""
    return list(_several(node, refusals))


def _several(node: Node, refusals: Refusals) -> Iterator[ListedProvider]:
    match node.value:
        case list():
            for element in node.elements():
                yield from _several(element, refusals)
        case str() if node.file is not None and Path(node.file).suffix.lower() in {".yaml", ".yml", ".json"}:
            yield from _several(read_node(named_file(node, node.file), node.source.base), refusals)
        case str():
            yield from _made(node, node.value, {}, refusals)
        case dict() if "id" in node.value:
            before = len(refusals)
            members = refusals.known(node, PARTS, there=keys_there.PROVIDER)
            if len(refusals) == before:
                yield from _made(node, members["id"].text(), members, refusals)
        case dict() if len(node.value) == 1:
            ((name, inner),) = node.mapping().items()
            before = len(refusals)
            members = refusals.known(inner, PARTS, there=keys_there.PROVIDER)
            if len(refusals) == before:
                yield from _made(node, name, members, refusals)
        case _:
            raise node.wrong("must be a provider's id, or {id, label, config}")


def _made(node: Node, ident: str, members: Mapping[str, Node], refusals: Refusals) -> Iterator[ListedProvider]:
    config = members["config"] if "config" in members else node.child("config", {})
    before = len(refusals)
    spec = _spec(node, ident, config, refusals)
    if spec is None or len(refusals) > before:
        return
    transform = transform_code(members["transform"], refusals) if "transform" in members else None
    transforms = () if transform is None else (transform,)
    label = members["label"].text() if "label" in members else ident
    prompts = tuple(node.text() for node in members["prompts"].elements()) if "prompts" in members else None
    known_as = spec.url if isinstance(spec, AddressSpec) and "url" in config.mapping() else ""
    known_as = known_as if members else _known_as(ident)
    wire = _wire_spec(known_as or ident, members)
    delay = members["delay"].number() if "delay" in members else 0.0
    provider = Provider(
        id=ident, label=label, spec=spec, transforms=transforms, told=wire, delay_ms=delay, known_as=known_as
    )
    yield ListedProvider(provider, prompts, node)


def _known_as(ident: str) -> str:
    """Returns what promptfoo calls a provider that is named by a text alone, where that is another name."""
    for kind in ("openai:chat:", "openai:responses:"):
        if ident.startswith(kind):
            return f"openai:{ident.removeprefix(kind)}"
    name = ident.removeprefix("python:").removeprefix("file://")
    head, _, function = name.rpartition(":")
    file = head if head.endswith(".py") else name
    return f"python:{file}:{function if file == head else 'default'}" if file.endswith(".py") else ""


def _wire_spec(ident: str, members: Mapping[str, Node]) -> Json:
    """Returns what code that asks is told of the provider; of a config that may hold a key, nothing."""
    config = members["config"].value if "config" in members else {}
    secret = isinstance(config, dict) and any(SECRET.search(name) for name in config)
    label = members["label"].value if "label" in members else ""
    known: Json = {} if "{{" in ident else {"id": ident}  # an address that is filled in at the call
    return {**known, "label": label, **({} if secret else {"config": config})}


def as_its_class_says(listed: ListedProvider) -> ListedProvider:
    """The provider as its class in JavaScript tells code of it, which is called for that: its id, label and config."""
    provider = listed.provider
    if not isinstance(provider.spec, ModuleSpec):
        return listed
    try:
        own = described(Path(provider.spec.path), {"id": provider.id, "config": provider.spec.config})
    except ModuleError as error:
        raise listed.node.wrong(f"{provider.id}: {error}") from None
    assert isinstance(own, dict)
    config: Json = {"config": own["config"]} if "config" in provider.told and "config" in own else {}
    facts: Json = {"id": own["id"], "label": own["label"] or provider.told["label"], **config}
    return replace(listed, provider=provider.model_copy(update={"told": facts, "known_as": str(own["id"])}))


def _spec(node: Node, ident: str, config: Node, refusals: Refusals) -> Spec | None:
    if ident == SIMULATED_USER:
        return simulated_user_spec(config, refusals)
    return code_spec(node, ident, config, refusals) if is_code(ident) else model_spec(node, ident, config, refusals)


def is_code(ident: str) -> bool:
    """Returns whether a function, a program or an application answers under that id, and no model."""
    begins = ("python:", "file://", "exec:", "http://", "https://")
    return ident in {"echo", "http", "https"} or ident.startswith(begins) or bool(agent_of(ident))


def code_spec(node: Node, ident: str, config: Node, refusals: Refusals) -> CodeSpec | None:
    """The function, program or application of that id; None where it is refused."""
    if ident == "echo":
        if config.value:
            refusals.note(config, "an echo reads no config")
        return EchoSpec()
    if ident.startswith(("python:", "file://")):
        return _code(node, ident, config, refusals)
    if ident.startswith("exec:"):
        command = command_words(node, ident.removeprefix("exec:"))
        folder = node.source.base.resolve()
        code = files_digest(named_in(command, folder), folder)
        return ProgramSpec(command=command, config=_json(config), folder=folder_of(node), code=code)
    if agent_of(ident):
        return agent_spec(ident, config, refusals)
    return _address(node, ident, config, refusals)


def _code(node: Node, ident: str, config: Node, refusals: Refusals) -> PythonSpec | ModuleSpec | None:
    name = ident.removeprefix("python:").removeprefix("file://")
    head, colon, tail = name.rpartition(":")
    file, function = (head, tail) if colon and head.endswith(".py") else (name, "call_api")
    if Path(file).suffix.lower() in SCRIPTS:
        if not runs_module(node, file, refusals):
            return None
        path = named_file(node, file)
        return ModuleSpec(
            path=str(path), config=_json(config), code=_code_digest(node, path), offered=_offered(config, refusals)
        )
    if not file.endswith(".py"):
        refusals.add(node, f"the provider {ident}: of code, only files of Python and JavaScript are called")
        return None
    path = named_file(node, file)
    return PythonSpec(
        path=str(path),
        function=function,
        config={key: _with_files(node, refusals) for key, node in config.mapping().items()},
        code=_code_digest(node, path),
        offered=_offered(config, refusals),
    )


def _code_digest(node: Node, path: Path) -> str:
    """The digest of a file of code and of what it imports from the config's folder."""
    read_text(path)  # one that cannot be read is refused here
    return files_digest([path], node.source.base.resolve())


def _offered(config: Node, refusals: Refusals) -> Json:
    """The tools that the config says are offered; of functions promptfoo asks its own providers only."""
    return {key: _with_files(node, refusals) for key, node in config.mapping().items() if key == "tools"}


def _with_files(node: Node, refusals: Refusals) -> JsonValue:
    """The value with what stands in the files that it names in place of their names."""
    match node.value:
        case str() if node.file is not None:
            path = named_file(node, node.file)
            if path.suffix.lower() in {*YAML, ".json"}:
                return read_node(path, node.source.base).value
            if path.suffix.lower() in SCRIPTS | {".py"}:
                refusals.add(node, "what code gives, in a provider's config")
            return read_text(path)
        case list():
            return [_with_files(node, refusals) for node in node.elements()]
        case dict():
            return {name: _with_files(node, refusals) for name, node in node.mapping().items()}
        case _:
            return node.value


def _address(node: Node, ident: str, config: Node, refusals: Refusals) -> AddressSpec | None:
    members = refusals.known(config, HTTP, harmless=HARMLESS_HTTP, there=keys_there.ADDRESS)
    url = members["url"].text() if "url" in members else ident
    code = {
        "transform": _code_of(members.get("transformResponse") or members.get("responseParser"), refusals, RESPONSE),
        "asking": _code_of(members.get("transformRequest"), refusals, REQUEST),
        "will_do": _code_of(members.get("validateStatus"), refusals, STATUS),
    }
    if "request" in members:
        secure = url.startswith("https") or ("useHttps" in members and members["useHttps"].yes())
        return _vetted(config, raw_request(members["request"], secure=secure).model_copy(update=code), refusals)
    if not url.startswith(("http://", "https://", "{{")):
        raise node.wrong("the address must stand under config.url, with http:// or https://")
    headers = _texts(members["headers"]) if "headers" in members else {}
    body = _body(members.get("body"), headers)
    made = AddressSpec(
        url=url,
        method=members["method"].text().upper()
        if "method" in members
        else "GET"
        if body.value is None and body.text is None
        else "POST",
        headers=body.headers,
        query=_texts(members["queryParams"]) if "queryParams" in members else {},
        body=body.value,
        text=body.text,
        flat="body" in members and isinstance(members["body"].value, str),
    ).model_copy(update=code)
    return _vetted(config, made, refusals)


def _code_of(node: Node | None, refusals: Refusals, arguments: str) -> str | None:
    """The JavaScript there, as it is called with those."""
    code = None if node is None else transform_code(node, refusals, arguments, python=False)
    return code if isinstance(code, str) else None


def _vetted(config: Node, spec: AddressSpec, refusals: Refusals) -> AddressSpec:
    """The same; a template in it that cannot be filled is refused."""
    for text in (spec.url, *spec.headers.values(), *spec.query.values(), *json_texts(spec.body), spec.text or ""):
        try:
            vet_template(text.replace("env.", "env_"))
        except EvalsError as error:
            refusals.add(config, error.message_text)
    return spec


@dataclass(frozen=True, slots=True)
class _Body:
    """The body that is sent: a JSON value, a text, or nothing, and the headers with the one that says of what kind a text is."""

    headers: dict[str, str]
    value: JsonValue = None
    text: str | None = None


def _body(node: Node | None, headers: dict[str, str]) -> _Body:
    """The body. A text that is JSON is sent as such unless a header says otherwise; any other as a form, as promptfoo does."""
    kind = next((value for name, value in headers.items() if name.lower() == "content-type"), None)
    if node is None or not isinstance(node.value, str):
        return _Body(headers, None if node is None else node.value)
    if kind is None or "json" in kind:
        try:
            return _Body(headers, json.loads(node.value))
        except ValueError:
            pass  # no JSON before it is filled
    return _Body({**headers, "content-type": FORM} if kind is None else headers, text=node.value)


def _texts(node: Node) -> dict[str, str]:
    return {
        key: str(node.value) if isinstance(node.value, int | float) else node.text()
        for key, node in node.mapping().items()
    }


def _json(config: Node) -> Json:
    return {key: node.value for key, node in config.mapping().items()}
