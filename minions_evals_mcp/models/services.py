"""Services that moderate and classify, asked over HTTP: what each is sent, and its answer in one form for all of them.

A moderation is {category: what it means} of what was flagged; a classification is {label: score}. The text travels in a
request's `user` and its prompt in `system`, the answer comes back as JSON in the reply's `text`: so the deadline, the retries
and the classified faults are those of every other call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import anyio
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.models.client import ModelConnection, RetriedClient, Retrying
from minions_evals_mcp.models.faults import AttemptFault, fault_of_connection, fault_of_status, malformed
from minions_evals_mcp.models.replies import Answered, Completion
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.models.service_table import Service
from minions_evals_mcp.outgoing import UnacceptableReplyError, open_client

if TYPE_CHECKING:
    import httpx2

POLL_S = 0.5
HAZARDS = {
    "S1": "Violent Crimes", "S2": "Non-Violent Crimes", "S3": "Sex-Related Crimes", "S4": "Child Sexual Exploitation",
    "S5": "Defamation", "S6": "Specialized Advice", "S7": "Privacy", "S8": "Intellectual Property",
    "S9": "Indiscriminate Weapons", "S10": "Hate", "S11": "Self-Harm", "S12": "Sexual Content", "S13": "Elections",
    "S14": "Code Interpreter Abuse",
}  # fmt: skip
"""The hazards that Llama Guard tells, by their codes."""
Said = Mapping[str, str] | Mapping[str, float]


class _Part(BaseModel):
    """A part of a reply; what we do not read may be anything."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _Moderated(_Part):
    flagged: bool
    categories: dict[str, bool | None]


class _Moderation(_Part):
    results: list[_Moderated]


class _Labelled(_Part):
    label: str
    score: Annotated[float, Field(allow_inf_nan=False)]


class _Group(_Part):
    entity_group: str
    score: Annotated[float, Field(allow_inf_nan=False)]


class _Links(_Part):
    get: str = ""


class _Prediction(_Part):
    status: str
    output: str | list[str] | None = None
    error: str | None = None
    urls: _Links = _Links()


_LABELS: TypeAdapter[list[_Labelled] | list[list[_Labelled]]] = TypeAdapter(list[_Labelled] | list[list[_Labelled]])
_GROUPS: TypeAdapter[list[_Group]] = TypeAdapter(list[_Group])


@dataclass(frozen=True, slots=True)
class _Form:
    """The form of a service's request: what follows its address, what is sent, and how the answer is read."""

    path: Callable[[str], str]
    body: Callable[[ModelRequest], Json]
    read: Callable[[bytes], Said]


def _flagged(content: bytes) -> Said:
    results = _Moderation.model_validate_json(content).results
    return {
        name: name for result in results if result.flagged for name, flagged in result.categories.items() if flagged
    }


def _labels(content: bytes) -> Said:
    """The labels of a text: of a list of texts with one in it, those of that one."""
    rows = _LABELS.validate_json(content)
    labels = [label for row in rows for label in (row if isinstance(row, list) else [row])]
    if not labels:
        raise ValueError("it returned no label")
    return {label.label: label.score for label in labels}


def _groups(content: bytes) -> Said:
    """The kinds of words that stand in a text, each with the score of the surest."""
    scores: dict[str, float] = {}
    for group in _GROUPS.validate_json(content):
        scores[group.entity_group] = max(group.score, scores.get(group.entity_group, group.score))
    return scores


def _guarded(content: bytes) -> Said:
    """Returns what Llama Guard says: `safe`, or `unsafe` and in the next line the codes of the hazards."""
    prediction = _Prediction.model_validate_json(content)
    if prediction.error or prediction.status in {"failed", "canceled"}:
        raise ValueError(f"the prediction {prediction.status}: {prediction.error or 'no reason given'}")
    first, *others = "".join(prediction.output or "").strip().splitlines() or [""]
    if first.strip() == "safe":
        return {}
    if first.strip() != "unsafe":
        raise ValueError(f"it returned neither safe nor unsafe: {first[:80]!r}")
    codes = [code.strip() for line in others[:1] for code in line.split(",") if code.strip()]
    return {code: HAZARDS.get(code, code) for code in codes} or {"unsafe": "unsafe"}


def _predicted(request: ModelRequest) -> Json:
    body: Json = {"input": {"prompt": f"Human: {request.system or ''}\n\nAssistant: {request.user}"}}
    _, colon, version = request.model.partition(":")
    return {**body, "version": version} if colon else body


FORMS: dict[str, _Form] = {
    "openai:moderation:": _Form(
        lambda _: "/moderations", lambda request: {"model": request.model, "input": request.user}, _flagged
    ),
    "replicate:moderation:": _Form(
        lambda model: "/predictions" if ":" in model else f"/models/{model}/predictions", _predicted, _guarded
    ),
    "huggingface:text-classification:": _Form(
        lambda model: f"/models/{model}", lambda request: {"inputs": request.user, "parameters": {}}, _labels
    ),
    "huggingface:token-classification:": _Form(
        lambda model: f"/models/{model}",
        lambda request: {"inputs": request.user, "parameters": {"aggregation_strategy": "simple", **request.params}},
        _groups,
    ),
}
"""The forms of the services, by their prefixes."""


class ServiceClient(RetriedClient):
    """A `ModelClient` whose answers are moderations or classifications."""

    def __init__(self, connection: ModelConnection, service: Service) -> None:
        import httpx2  # noqa: PLC0415  0.1 s that only these need

        self.provider = connection.provider
        self._service, self._form = service, FORMS[service.prefix]
        self._base = connection.base_url.rstrip("/")
        key = {"authorization": f"Bearer {connection.api_key}"} if connection.api_key else {}
        self._http = open_client(
            httpx2.AsyncClient,
            server=self._base,
            trust_env=False,  # settings.py alone reads the environment
            reply_bytes=connection.reply_bytes,
            headers={"prefer": "wait=60", **key},
            timeout=None,
            follow_redirects=True,
        )
        self._errors = httpx2.HTTPError
        self._retrying = Retrying(connection, self._attempt)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    def _address(self, model: str) -> str:
        whole = self._service.of_one_model and self._base != self._service.url
        return self._base if whole else f"{self._base}{self._form.path(model)}"

    async def _attempt(self, request: ModelRequest) -> Answered | AttemptFault:
        try:
            response = await self._http.post(self._address(request.model), json=self._form.body(request))
            if not response.is_success:
                return fault_of_status(response.status_code, response.headers, response.text)
            answer = self._form.read(await self._finished(response))
        except (self._errors, UnacceptableReplyError) as error:
            return fault_of_connection(error)
        except ValidationError as error:
            return malformed(error)
        except ValueError as error:
            return AttemptFault("malformed", f"malformed reply: {error}")
        return Completion(json.dumps(answer), request.model, "stop")

    async def _finished(self, response: httpx2.Response) -> bytes:
        """The body of an answer that is there; of a prediction that is still made, once it is."""
        while self._service.account == "replicate" and (more := _unfinished(response.content)):
            await anyio.sleep(POLL_S)
            response = await self._http.get(more)
        return response.content


def _unfinished(content: bytes) -> str:
    """Returns where a prediction that is still made is asked for again; empty for one that is there, or failed."""
    prediction = _Prediction.model_validate_json(content)
    return prediction.urls.get if prediction.status in {"starting", "processing"} else ""
