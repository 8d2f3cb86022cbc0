"""What is configured, what works, what to do next."""

from __future__ import annotations

import anyio.to_thread

from minions_evals_mcp.domain.providers import PROVIDERS
from tests.shared.cli.terminal import Ended, Json, Terminal
from tests.shared.fakes.llm_server import Server

SECRET = "sk-very-secret-1234"


def findings(found: Ended) -> dict[str, Json]:
    listed = found.one()["findings"]
    assert isinstance(listed, list)
    return {str(one["name"]): one for one in listed if isinstance(one, dict)}


def test_an_empty_machine_is_healthy_and_told_what_to_do(at: Terminal) -> None:
    found, told = at.many(["doctor", "--json"], ["doctor"])
    assert found.code == told.code == 0
    said = findings(found)
    assert {name: one["ok"] for name, one in said.items()} == {
        "project": None, "SQLite": True, "skills": True, "store": None, "embedder": True, "Python checks": True, "JavaScript checks": True,
        "MCP server": True, "agent": True, "extras": said["extras"]["ok"],
        **dict.fromkeys(PROVIDERS), "judge": None,
    }  # fmt: skip
    assert "import, eval, run, add or lift" in str(said["store"]["remedy"])
    assert "ANTHROPIC_API_KEY" in told.out
    assert not at.db.exists()


async def test_ping_asks_the_judge_tries_the_embedder_starts_server_and_agent_and_shows_no_key(
    at: Terminal, server: Server
) -> None:
    at = at.with_env(ANTHROPIC_API_KEY=SECRET, ANTHROPIC_BASE_URL=server.url, OPENAI_API_KEY=SECRET)
    commands = (["doctor", "--json"], ["doctor", "--ping", "--json"], ["doctor"])
    quiet, asked, told = await anyio.to_thread.run_sync(lambda: at.many(*commands))
    assert [one.code for one in (quiet, asked, told)] == [0, 0, 0]
    assert server.requests == 1
    assert "--ping" in str(findings(quiet)["judge"]["remedy"])
    assert "answered in" in str(findings(asked)["judge"]["said"])
    for one in (quiet, asked, told):
        assert SECRET not in one.out + one.err
    for name, said in (("embedder", "256 numbers for a text"), ("MCP server", "starts in"), ("agent", "starts in")):
        assert said not in str(findings(quiet)[name]["said"])
        assert said in str(findings(asked)[name]["said"])
    assert not at.db.exists()


def test_the_default_judge_is_named_with_the_reason(at: Terminal) -> None:
    openai, both, named = (
        findings(at.with_env(**keys).many(["doctor", "--json"])[0])["judge"]["said"]
        for keys in (
            {"OPENAI_API_KEY": SECRET},
            {"OPENAI_API_KEY": SECRET, "ANTHROPIC_API_KEY": SECRET},
            {"OPENAI_API_KEY": SECRET, "MINIONS_EVALS_JUDGE_MODEL": "openai:gpt-5"},
        )
    )
    assert openai == "openai:gpt-5.1 (the default, for OPENAI_API_KEY is set, ANTHROPIC_API_KEY is not; price known)"
    assert "anthropic:claude-sonnet-5-5 (the default, for ANTHROPIC_API_KEY and OPENAI_API_KEY are set" in str(both)
    assert named == "openai:gpt-5 (price known)"


async def test_a_wrong_key_is_broken_and_ends_with_3(at: Terminal, server: Server) -> None:
    at = at.with_env(ANTHROPIC_API_KEY="wrong-" + SECRET, ANTHROPIC_BASE_URL=server.url)
    (found,) = await anyio.to_thread.run_sync(lambda: at.many(["doctor", "--ping", "--json"]))
    assert found.code == 3
    assert findings(found)["judge"]["ok"] is False
    assert findings(found)["judge"]["remedy"]
    assert SECRET not in found.out + found.err


def test_broken_parts_are_named_with_a_remedy(at: Terminal) -> None:
    (at.folder / "skills").mkdir()
    at.file("evals.db", b"junk" * 100)
    at = at.with_env(MINIONS_EVALS_SKILLS=str(at.folder / "skills"), MINIONS_EVALS_JUDGE_MODEL="oracle:one")
    (found,) = at.many(["doctor", "--json"])
    assert found.code == 3
    for name in ("skills", "store", "judge"):
        assert findings(found)[name]["ok"] is False, name
        assert findings(found)[name]["remedy"], name


def test_an_embedder_that_cannot_be_had_is_broken_and_says_which_can(at: Terminal) -> None:
    (found,) = at.with_env(MINIONS_EVALS_EMBEDDER="oracle").many(["doctor", "--json"])
    assert found.code == 3
    assert findings(found)["embedder"]["ok"] is False
    assert "wordllama" in str(findings(found)["embedder"]["remedy"])


def test_the_extras_that_are_missing_are_named_as_pip_takes_them(at: Terminal) -> None:
    (found,) = at.many(["doctor", "--json"])
    extras = findings(found)["extras"]
    assert "graphql" in str(extras["said"])
    assert "dev" not in str(extras["said"])
    assert extras["ok"] is True or str(extras["remedy"]).startswith("pip install 'minions-evals-mcp[")
