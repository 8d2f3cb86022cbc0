"""An address to which notifications are posted: signed JSON by the Standard Webhooks specification, or a message for Slack."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from minions_evals_mcp.domain.definitions import Fields, Json
from minions_evals_mcp.domain.neighbours import AgentMessage, ApprovalRequest, Task
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.values import Text, Value, short_id, with_short_ids
from minions_evals_mcp.errors import BadInputError, InstrumentError
from minions_evals_mcp.outgoing import open_client
from minions_evals_mcp.toolboxes.patience import Patience

TIMEOUT_S = 20.0
OK = range(200, 300)
GONE = 410
LATER = frozenset((408, 425, 429))
"""Answers below 500 that say "later"."""
SECRET_PREFIX = "whsec_"  # noqa: S105  how secrets begin, by the specification
SHORTEST_KEY = 16
"""Bytes of a signing key: a shorter one is found by trying."""
LONGEST_TEXT = 3_000
"""Slack shows so many characters of a message in one block."""


class WebhookSettings(Value):
    """The address, or the variable that holds it where the address is a secret; the variable of the signing secret.

    `form` "json" posts the record, "slack" a message that Slack's incoming webhooks, Mattermost and Rocket.Chat show.
    """

    url: Text | None = None
    url_from: Text | None = None
    secret_from: Text | None = None
    form: Literal["json", "slack"] = "json"
    headers_from: Annotated[dict[str, Text], Field(default_factory=dict)]

    @model_validator(mode="after")
    def _names_one_address(self) -> Self:
        if (self.url is None) == (self.url_from is None):
            raise ValueError("url: give url, or urlFrom with the variable that contains it, not both")
        if self.url is not None:
            _vet(self.url, "url")
        return self

    def variables(self) -> tuple[str, ...]:
        """The environment variables that it needs."""
        return (*filter(None, (self.url_from, self.secret_from)), *self.headers_from.values())

    def way(self) -> str:
        """How somebody is notified, without what may be secret of the address."""
        return f"a webhook at {urlsplit(self.url).hostname}" if self.url else f"the webhook in {self.url_from}"


def _vet(url: str, name: str) -> None:
    """Raises `ValueError` for what is no address, holds a password, or would send in clear to another machine."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username is not None:
        raise ValueError(f"{name}: not a web address, or one with a password")
    if parts.scheme == "http" and parts.hostname not in {"localhost", "127.0.0.1", "::1"}:
        raise ValueError(f"{name}: https:// is needed for another machine")


class WebhookNeighbour:
    """Posts each record under its key. An answer of 2xx takes it over, 410 refuses it for good.

    Another answer of 4xx may be a mistake that is soon mended: it refuses for good at the `patience`-th time in a row.
    """

    def __init__(
        self, settings: WebhookSettings, secrets: Mapping[str, str], *, patience: int, clock: Callable[[], datetime]
    ) -> None:
        self._settings = settings
        self._url = settings.url or secrets[settings.url_from or ""]
        _vet_variable(self._url, settings)
        self._headers = {name: secrets[variable] for name, variable in settings.headers_from.items()}
        self._secret = _secret(secrets[settings.secret_from]) if settings.secret_from else None
        self._patience = Patience(patience)
        self._clock = clock

    async def tell(self, record: Record[Fields], *, key: str, addressee: str) -> None:
        """Posts it; raises `InstrumentError` where it may be tried again, `BadInputError` where it is refused for good."""
        wire = {"key": key, "addressee": addressee, **record.wire()}
        body = json.dumps(
            slack_message(record) if self._settings.form == "slack" else wire, ensure_ascii=False
        ).encode()
        status = await self._post(body, {**self._headers, **self._signed(key, body)})
        if status in OK:
            self._patience.taken(key)
            return
        reason = f"{self._settings.way()} answered {status}"
        if status == GONE:
            raise BadInputError(f"{reason}: it accepts no more messages.")
        if status >= 500 or status in LATER or status < 400:
            raise InstrumentError(reason)
        raise self._patience.refused(key, reason)

    async def _post(self, body: bytes, headers: Mapping[str, str]) -> int:
        """The status of the answer, whose body is not read; a redirect is none that is followed."""
        import httpx2  # noqa: PLC0415  0.1 s that few agents need

        try:
            async with (
                open_client(
                    httpx2.AsyncClient, server=self._url, trust_env=True, timeout=TIMEOUT_S, follow_redirects=False
                ) as client,
                client.stream(
                    "POST", self._url, content=body, headers={"content-type": "application/json", **headers}
                ) as answer,
            ):
                return answer.status_code
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise InstrumentError(f"{self._settings.way()}: {type(error).__name__}") from None

    def _signed(self, key: str, body: bytes) -> dict[str, str]:
        """The headers of the specification: an id that stays the same, the moment, and the signature over both and the body."""
        at = str(int(self._clock().timestamp()))
        headers = {"webhook-id": key, "webhook-timestamp": at}
        if self._secret is not None:
            signature = hmac.new(self._secret, f"{key}.{at}.".encode() + body, hashlib.sha256).digest()
            headers["webhook-signature"] = f"v1,{base64.b64encode(signature).decode()}"
        return headers


def _vet_variable(url: str, settings: WebhookSettings) -> None:
    try:
        _vet(url, settings.url_from or "url")
    except ValueError as error:
        raise BadInputError(f"{error}.", remedy="Set the variable to the whole address, https://….") from None


def _secret(text: str) -> bytes:
    """The key of a secret: base64 behind `whsec_`, else the text's own bytes; one that can be guessed signs nothing."""
    try:
        is_base64 = text.startswith(SECRET_PREFIX)
        key = base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True) if is_base64 else text.encode()
    except binascii.Error:
        raise BadInputError(
            "a secret that begins with whsec_ must continue in base64.", remedy="Copy all of it."
        ) from None
    if len(key) < SHORTEST_KEY:
        raise BadInputError(
            f"the secret of a webhook must have at least {SHORTEST_KEY} bytes.",
            remedy="Make one with `openssl rand -hex 24`, and give it to the receiver too.",
        )
    return key


def slack_message(record: Record[Fields]) -> Json:
    """The notification as a text: what it is in bold, then what it says. Text under test can set no link and no mention."""
    head, rest = _said(record)
    text = f"*{_escaped(head)}*\n{_escaped(rest)}" if rest else f"*{_escaped(head)}*"
    return {"text": text[:LONGEST_TEXT]}


def _said(record: Record[Fields]) -> tuple[str, str]:
    fields = record.fields
    match fields:
        case Task():
            return f"{fields.title} ({fields.priority})", fields.description
        case ApprovalRequest():
            return fields.title, fields.description
        case AgentMessage():
            said = value_text(fields.payload.get("summary", fields.payload))
            return fields.type.replace("-", " ").capitalize(), "\n".join(
                filter(None, (with_short_ids(said), _look(fields.payload)))
            )
        case _:
            return record.title, ""


def _look(payload: Json) -> str:
    """The command that shows what a message tells of; empty where it tells of no run."""
    run, before = payload.get("benchmarkRunId"), payload.get("previousRunId")
    if not isinstance(run, str):
        return ""
    named = f"diff {short_id(before)} {short_id(run)}" if isinstance(before, str) else f"runs {short_id(run)}"
    return f"`minions-evals {named}`"


def _escaped(text: str) -> str:
    """The text with the three signs escaped that Slack reads as markup; bold and code do no harm."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
