"""Models at Azure OpenAI, Amazon Bedrock and Google Vertex AI: asked where each cloud takes calls, signed as each wants it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from importlib import import_module
from pathlib import Path

import pytest

from minions_evals_mcp.domain import providers
from minions_evals_mcp.domain.providers import NO_ACCESS, ProviderAccess, name_endpoint
from minions_evals_mcp.errors import BadInputError, UnsupportedError
from minions_evals_mcp.models import registry
from minions_evals_mcp.models.registry import Models, ProviderSettings, parse_model
from minions_evals_mcp.models.replies import Completion, FailedReply, Reply
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.project import Endpoint
from tests.shared.fakes.llm_server import FakeSettings, Server, serving

PLACES: Mapping[str, Mapping[str, str]] = {
    "azure": {"api-version": "2024-10-21"},
    "bedrock": {"region": "eu-central-1"},
    "vertex": {"region": "europe-west1", "project": "p-1"},
    "vertex-gemini": {"region": "europe-west1", "project": "p-1"},
}
PATHS = {
    "azure": b"POST /openai/deployments/m-1/chat/completions?api-version=2024-10-21 ",
    "bedrock": b"POST /model/m-1/invoke ",
    "vertex": b"POST /v1/projects/p-1/locations/europe-west1/publishers/anthropic/models/m-1:rawPredict ",
    "vertex-gemini": b"POST /v1/projects/p-1/locations/europe-west1/endpoints/openapi/chat/completions ",
}
SENT = {
    "azure": b"api-key: a-key-of-ours",
    "bedrock": b"authorization: Bearer a-key-of-ours",
    "vertex": b"authorization: Bearer a-key-of-ours",
    "vertex-gemini": b"authorization: Bearer a-key-of-ours",
}


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    """A fake of all three."""
    async with serving() as found:
        yield found


@pytest.fixture(autouse=True)
def _no_cloud_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The endpoints end with the test, and no credentials of this machine are found."""
    monkeypatch.setattr(providers, "_BY_NAME", dict(providers.PROVIDERS))
    monkeypatch.setattr(providers, "PROVIDERS", providers._BY_NAME)  # pyright: ignore[reportPrivateUsage]  as above
    monkeypatch.setattr(registry, "PROVIDERS", providers._BY_NAME)  # pyright: ignore[reportPrivateUsage]  as above
    for name in (
        "AWS_PROFILE",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_BEARER_TOKEN_BEDROCK",
        "GOOGLE_APPLICATION_CREDENTIALS",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    kept = import_module("anthropic.lib.aws._auth")  # a session that one test made would serve the next
    kept._get_session.cache_clear()


async def asked(server: Server, cloud: str, *, key: str | None = "a-key-of-ours", model: str = "m-1") -> Reply:
    """The reply of that model at the cloud, which the fake server is."""
    url = f"{server.url}/v1" if cloud.startswith("vertex") else server.url
    name_endpoint("prod", cloud, url, "PROD_KEY", PLACES[cloud])
    settings = ProviderSettings(access={"prod": ProviderAccess(key, url)}, attempts=2, retry_base_s=0.001)
    async with Models(settings) as models:
        client = models.client(parse_model(f"prod:{model}"))
        return await client.complete(ModelRequest(model, "Say hello.", system="Be kind.", max_tokens=50), deadline_s=20)


@pytest.mark.parametrize("cloud", PLACES)
async def test_a_call_goes_where_the_cloud_takes_it_with_the_key_as_it_wants_it(server: Server, cloud: str) -> None:
    reply = await asked(server, cloud)
    assert isinstance(reply, Completion), reply
    assert reply.text
    assert reply.usage is not None
    assert server.requests == 1
    assert server.last_head.startswith(PATHS[cloud])
    assert SENT[cloud].lower() in server.last_head.lower()
    body = json.loads(server.last_body)
    assert "Say hello." in json.dumps(body["messages"])
    assert "Be kind." in json.dumps(body)


@pytest.mark.parametrize("cloud", PLACES)
async def test_faults_are_told_and_retried_as_elsewhere(server: Server, cloud: str) -> None:
    server.configure(FakeSettings(p529=1.0))
    overloaded = await asked(server, cloud)
    assert isinstance(overloaded, FailedReply)
    assert server.requests == 2
    server.configure(FakeSettings())
    unknown = await asked(server, cloud, model="unknown-model")
    assert isinstance(unknown, FailedReply)
    assert "404" in unknown.reason
    assert server.requests == 1, "what cannot succeed is not asked twice"


async def test_bedrock_signs_with_the_roles_own_credentials(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-that-signs")
    reply = await asked(server, "bedrock", key=None)
    assert isinstance(reply, Completion), reply
    head = server.last_head.decode().lower()
    assert "authorization: aws4-hmac-sha256 credential=akiaexample/" in head
    assert "/eu-central-1/bedrock/aws4_request" in head
    assert "a-secret-that-signs" not in head


@pytest.mark.parametrize("cloud", ["bedrock", "vertex", "vertex-gemini"])
async def test_without_any_credentials_the_call_is_an_error_of_the_judge_and_nothing_is_sent(
    server: Server, cloud: str
) -> None:
    reply = await asked(server, cloud, key=None)
    assert isinstance(reply, FailedReply)
    assert "prod could not be called" in reply.reason
    assert "credentials" in reply.reason
    assert server.requests == 0


async def test_azure_without_a_key_is_refused_by_the_name_of_its_variable(server: Server) -> None:
    with pytest.raises(BadInputError, match=r"no key for prod .*PROD_KEY"):
        await asked(server, "azure", key=None)


async def test_a_cloud_whose_library_is_missing_is_refused_with_the_extra(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "is_installed", "boto3".__ne__)
    with pytest.raises(UnsupportedError, match=r"boto3.*minions-evals-mcp\[bedrock\]"):
        await asked(server, "bedrock", key=None)


def test_a_namespace_that_holds_another_library_does_not_count_as_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cloudspace" / "other").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert registry.is_installed("cloudspace.other")
    assert not registry.is_installed("cloudspace.auth")
    assert not registry.is_installed("nowhere_at_all.auth")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"api": "bedrock"}, "needs region"),
        ({"api": "vertex", "region": "europe-west1"}, "needs project"),
        ({"api": "azure"}, "needs base-url"),
        ({"api": "openai"}, "needs base-url"),
        ({"api": "openai", "base-url": "http://localhost:1", "region": "x"}, "takes no region"),
        ({"api": "bedrock", "region": "eu west"}, "region"),
    ],
)
def test_an_endpoint_at_a_cloud_names_its_place(fields: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Endpoint.model_validate(fields)


def test_a_cloud_has_its_own_address_where_none_is_given() -> None:
    assert Endpoint.model_validate({"api": "bedrock", "region": "eu-central-1"}).place == {"region": "eu-central-1"}
    assert Endpoint.model_validate({"api": "azure", "base-url": "https://n.openai.azure.com"}).place == {
        "api-version": "2024-10-21"
    }
    assert NO_ACCESS.base_url is None
