"""Providers that hold a whole HTTP request as text: what is sent over a real socket, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.interop.promptfoo_config.config import read_config
from tests.hang import HANG_S
from tests.shared.targets.application import Asked as Heard
from tests.shared.targets.application import application, reply
from tests.workshop import START, config_in, opened

pytestmark = pytest.mark.anyio
POST = """POST /chat/{{user}}?v=1 HTTP/1.1
Host: HOST
Content-Type: application/json
X-Key: {{env.CHAT_KEY}}
Content-Length: 999

{"q": "{{prompt}}", "n": 1}
"""
FORM = "PUT /form HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\nq={{prompt}}&n=1"
GET = "GET http://HOST/search?q={{prompt}} HTTP/1.1\nAccept: text/plain"


async def heard(folder: Path, request: str, prompt: str = "hi") -> tuple[Heard, str | None]:
    """What the application was sent for that prompt, and the output of the cell."""

    async def answering(_: Heard) -> bytes:
        return reply({"said": ["well"]})

    async with application(answering) as app:
        whole = request.replace("HOST", app.url.removeprefix("http://"))
        config = {
            "prompts": ["{{text}}"], "tests": [{"vars": {"text": prompt, "user": "ann b"}}],
            "providers": [{"id": "http", "config": {"request": whole, "transformResponse": "json.said[0]"}}],
        }  # fmt: skip
        (folder / "c.yaml").write_text(json.dumps(config))
        async with opened(config_in(folder)) as engine:
            with anyio.fail_after(HANG_S):
                matrix = await evaluate(
                    engine, read_config(folder / "c.yaml", now=START), EvalOptions(), environment={"CHAT_KEY": "k-1"}
                )
        (asked,) = app.asked
        return asked, matrix.rows[0].cells[0].output


@pytest.mark.parametrize("prompt", ["hi", 'say "yes"\nX-Evil: 1', "back\\nslash", 'a", "n": 2, "b": "'])
async def test_a_prompt_is_written_into_json_and_can_begin_no_line(tmp_path: Path, prompt: str) -> None:
    asked, output = await heard(tmp_path, POST, prompt)
    assert (asked.method, asked.path, output) == ("POST", "/chat/ann%20b?v=1", "well")
    assert asked.json() == {"q": prompt, "n": 1}
    assert asked.headers["x-key"] == "k-1"
    assert asked.headers["content-length"] == str(len(asked.body))
    assert "x-evil" not in asked.headers


async def test_a_form_is_sent_as_it_is_written_and_an_address_may_stand_in_the_first_line(tmp_path: Path) -> None:
    asked, _ = await heard(tmp_path, FORM)
    assert (asked.method, asked.body) == ("PUT", b"q=hi&n=1")
    assert asked.headers["content-type"] == "application/x-www-form-urlencoded"
    (tmp_path / "get").mkdir()
    asked, _ = await heard(tmp_path / "get", GET)
    assert (asked.method, asked.path, asked.body) == ("GET", "/search?q=hi", b"")


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ("hello", "must begin with a line like POST /path HTTP/1.1"),
        ("FETCH / HTTP/1.1\nHost: h", "must begin with a line like"),
        ("GET /x HTTP/1.1", "must have a header Host"),
        ("GET /x HTTP/1.1\nHost: h\nno header", "is no header"),
        ("GET /{% if x %}y{% endif %} HTTP/1.1\nHost: h", "and no tags"),
    ],
)
def test_what_is_no_request_is_refused_with_its_place(tmp_path: Path, request_: str, why: str) -> None:
    config = {
        "prompts": ["a"],
        "providers": [{"id": "https", "config": {"request": request_}}],
        "tests": [{"vars": {"x": "1"}}],
    }
    (tmp_path / "c.yaml").write_text(json.dumps(config))
    with pytest.raises(EvalsError) as refused:
        read_config(tmp_path / "c.yaml", now=START)
    assert why in str(refused.value)


def test_a_request_in_a_file_goes_by_https_where_the_config_says_so(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("GET /x HTTP/1.1\nHost: h.example")
    for config in ({"request": "file://r.txt", "useHttps": True}, {"request": "file://r.txt", "url": "https://x"}):
        whole = {"prompts": ["a"], "providers": [{"id": "http", "config": config}], "tests": [{"vars": {"x": "1"}}]}
        (tmp_path / "c.yaml").write_text(json.dumps(whole))
        spec = read_config(tmp_path / "c.yaml", now=START).columns[0].provider.spec
        assert spec.model_dump()["url"] == "https://h.example/x"
