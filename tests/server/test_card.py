"""What can be known of the server before connecting (SEP-2127): its card and the catalogue of its host."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from mcp import Client

from minions_evals_mcp.server.card import CARD_TYPE, CATALOG_TYPE, catalog, server_card
from minions_evals_mcp.server.http import Door
from tests.shared.server.web import TOKEN, served


@pytest.mark.parametrize("token", [None, TOKEN])
async def test_the_catalogue_leads_to_the_card_and_the_card_to_the_server(tmp_path: Path, token: str | None) -> None:
    async with served(tmp_path, token=token) as door, httpx2.AsyncClient() as asking:
        found = await asking.get(f"http://127.0.0.1:{door.port}/.well-known/ai-catalog.json")
        assert (found.status_code, found.headers["content-type"]) == (200, CATALOG_TYPE)
        (entry,) = found.json()["entries"]
        assert entry["type"] == CARD_TYPE
        assert entry["identifier"] == "urn:air:mxn2020.github.io:mcp:minions-evals-mcp"
        told = await asking.get(entry["url"], headers={"accept": CARD_TYPE})
        assert (told.status_code, told.headers["content-type"]) == (200, CARD_TYPE)
        assert told.headers["access-control-allow-origin"] == "*"
        card = told.json()
        (remote,) = card["remotes"]
        assert ("headers" in remote) == (token is not None)
        assert TOKEN not in told.text
        same = await asking.get(entry["url"], headers={"if-none-match": told.headers["etag"]})
        assert (same.status_code, same.content) == (304, b"")
        if token is None:
            async with Client(remote["url"]) as client:
                assert client.server_info is not None
                assert client.server_info.version == card["version"]
                assert client.protocol_version in remote["supportedProtocolVersions"]


def test_a_server_for_others_is_named_by_its_name_behind_tls() -> None:
    assert Door("0.0.0.0", 8765, ("evals.example",), TOKEN).public_url == "https://evals.example/mcp"  # noqa: S104  a name, no listening
    assert Door("127.0.0.1", 8765, ("evals.example",)).public_url == "http://127.0.0.1:8765/mcp"


def test_the_card_keeps_within_what_its_schema_allows() -> None:
    card = server_card("https://evals.example/mcp", needs_token=True)
    assert set(card) == {"$schema", "name", "title", "description", "version", "remotes"}
    assert 1 <= len(str(card["description"])) <= 100
    assert str(card["name"]).count("/") == 1
    assert set(catalog("https://evals.example/mcp")) == {"specVersion", "entries"}
