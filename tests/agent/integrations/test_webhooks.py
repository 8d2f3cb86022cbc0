"""Webhooks: notifications posted as signed JSON, or as messages for Slack, against a real server on loopback."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Generator
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from pydantic import ValidationError

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.outbox import message, queue, task
from minions_evals_mcp.errors import BadInputError, InstrumentError
from minions_evals_mcp.store.agent import delivery
from minions_evals_mcp.toolboxes.webhook import WebhookNeighbour, WebhookSettings
from tests.agent.integrations.test_delivery import queued, routed, states
from tests.shared.agent.desk import AGENT, Desk
from tests.shared.agent.inside import drained
from tests.workshop import START

SECRET = "whsec_" + base64.b64encode(b"a signing key of 24 bytes").decode()


@dataclass
class Hook:
    """A receiver that answers the next statuses, 204 once there are none, and keeps what it was sent."""

    url: str = ""
    answers: list[int] = field(default_factory=list[int])
    taken: list[tuple[dict[str, str], bytes]] = field(default_factory=list[tuple[dict[str, str], bytes]])
    paths: set[str] = field(default_factory=set[str])


@pytest.fixture
def hook() -> Generator[Hook]:
    """One that listens."""
    found = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            found.paths.add(self.path)
            found.taken.append(({name.lower(): value for name, value in self.headers.items()}, body))
            status = found.answers.pop(0) if found.answers else 204
            self.send_response(status)
            if status in {301, 302, 307}:
                self.send_header("location", found.url + "/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the library's name
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    yield found
    server.shutdown()
    server.server_close()
    thread.join()


def neighbour(hook: Hook, *, patience: int = 3, **settings: object) -> WebhookNeighbour:
    """The one that posts there."""
    known = {"HOOK_SECRET": SECRET, "HOOK_URL": hook.url, "HOOK_TOKEN": "t0ken"}
    where = {} if "urlFrom" in settings else {"url": hook.url}
    made = WebhookSettings.model_validate({**where, **settings})
    return WebhookNeighbour(made, known, patience=patience, clock=lambda: START)


async def test_a_notification_is_signed_by_the_specification_and_keeps_its_id(engine: Engine, hook: Hook) -> None:
    await queued(engine, "a", "b")
    hook.answers = [500]
    there = neighbour(hook, secretFrom="HOOK_SECRET", headersFrom={"X-Token": "HOOK_TOKEN"})
    await drained(engine, route=routed(orchestrator=there))
    engine.clock = lambda: START + timedelta(hours=1)
    await drained(engine, route=routed(orchestrator=there))
    assert await states(engine) == ["delivered", "delivered"]
    assert [headers["webhook-id"] for headers, _ in hook.taken] == ["a", "a", "b"], "in order, under the same id"
    for headers, body in hook.taken:
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        expected = hmac.new(b"a signing key of 24 bytes", signed, hashlib.sha256).digest()
        assert headers["webhook-signature"] == f"v1,{base64.b64encode(expected).decode()}"
        assert (headers["x-token"], headers["content-type"]) == ("t0ken", "application/json")
        assert json.loads(body)["key"] == headers["webhook-id"]


@pytest.mark.parametrize(("status", "ends"), [(410, 1), (404, 3), (429, None), (503, None), (302, None)])
async def test_what_is_refused_for_good_is_set_aside_and_what_may_come_back_is_not(
    hook: Hook, status: int, ends: int | None, engine: Engine
) -> None:
    there, record = neighbour(hook), message("news", {}, at=START)
    await engine.store.write(lambda db: queue(db, "k", record, key="k", at=START))
    (row,) = await engine.store.read(lambda db: delivery.waiting_for(db, "orchestrator", limit=5))
    hook.answers = [status] * 5
    for number in range(1, 6):
        with pytest.raises((BadInputError, InstrumentError)) as caught:
            await there.tell(row.record, key="k", addressee="orchestrator")
        assert str(status) in str(caught.value)
        assert isinstance(caught.value, BadInputError) == (number == ends)
        if number == ends:
            break
    assert hook.paths == {"/hook"}, "no redirect is followed"


async def test_slack_is_sent_one_text_that_sets_no_link_and_no_mention(engine: Engine, hook: Hook) -> None:
    there = neighbour(hook, form="slack", urlFrom="HOOK_URL")
    runs = {"benchmarkRunId": "3ad83a15-ce2e-4e8e-8918-8241fea26c45", "previousRunId": "nightly-7"}
    told = message(
        "benchmark-regression", {"summary": "Refunds fell: <!channel> <https://x|y> & more", **runs}, at=START
    )
    asked = task("Investigate <b>", "Score 0.955 → 0.670.", priority="critical", about="b", owner=None, at=START)
    for key, fields in (("m", told), ("t", asked)):
        await engine.store.write(lambda db, key=key, fields=fields: queue(db, key, fields, key=key, at=START))
    await drained(engine, route=routed(orchestrator=there, tasks=there))
    texts = sorted(json.loads(body)["text"] for _, body in hook.taken)
    assert texts == [
        "*Benchmark regression*\nRefunds fell: &lt;!channel&gt; &lt;https://x|y&gt; &amp; more\n`minions-evals diff nightly-7 3ad83a15`",
        "*Investigate &lt;b&gt; (critical)*\nScore 0.955 → 0.670.",
    ]
    assert all("webhook-signature" not in headers for headers, _ in hook.taken)


async def test_one_that_is_not_there_is_tried_again_and_its_address_is_told_to_nobody() -> None:
    made = WebhookSettings.model_validate({"urlFrom": "U"})
    there = WebhookNeighbour(made, {"U": "http://127.0.0.1:9/secret-path"}, patience=2, clock=lambda: START)
    with pytest.raises(InstrumentError) as caught:
        await there.tell(_record(), key="k", addressee="people")
    assert "secret-path" not in str(caught.value)
    assert "the webhook in U" in str(caught.value)


def _record() -> Any:
    from minions_evals_mcp.domain.records import Record  # noqa: PLC0415  one of no store

    return Record("k", message("news", {}, at=START), "news", START, START)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "url: give url, or urlFrom"),
        ({"url": "https://a.b", "urlFrom": "U"}, "url: give url, or urlFrom"),
        ({"url": "http://example.org/x"}, "https:// is needed"),
        ({"url": "https://me:pw@example.org"}, "not a web address"),
        ({"url": "ftp://example.org"}, "not a web address"),
        ({"url": "https://a.b", "form": "teams"}, "'json' or 'slack'"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(settings: dict[str, str], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        WebhookSettings.model_validate(settings)


@pytest.mark.parametrize(
    "secret", ["abc", "fifteen letters", "whsec_" + base64.b64encode(b"short").decode(), "whsec_?"]
)
def test_a_secret_that_can_be_guessed_or_is_cut_off_is_refused(hook: Hook, secret: str) -> None:
    settings = WebhookSettings.model_validate({"url": hook.url, "secretFrom": "S"})
    with pytest.raises(BadInputError, match=r"at least 16 bytes|continue in base64"):
        WebhookNeighbour(settings, {"S": secret}, patience=1, clock=lambda: START)


def test_the_agent_posts_what_its_file_names_and_needs_the_variables(tmp_path: Path, hook: Hook) -> None:
    desk = Desk(tmp_path)
    file = desk.folder / "hooks.toml"
    file.write_text('[tell."*"]\nwebhook = {urlFrom = "NO_SUCH_HOOK", secretFrom = "HOOK_SECRET"}\n')
    refused = desk.ran(AGENT, "drain", "--integrations", str(file))
    assert (refused.code, "NO_SUCH_HOOK" in refused.err) == (2, True)
    file.write_text(f'[tell."*"]\nwebhook = {{url = "{hook.url}"}}\n')
    ended = desk.ran(AGENT, "drain", "--integrations", str(file))
    assert ended.code == 0, ended
