"""An application behind an address as the target, asked over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import UTC, datetime

import anyio
import pytest
from pydantic import JsonValue, ValidationError

from minions_evals_mcp.domain.neighbours import PromptVersion, ToolCall
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.outgoing import MOST_BYTES
from minions_evals_mcp.targets.http import ApplicationConnections, HttpSettings, HttpTarget, http_settings
from tests.hang import HANG_S
from tests.shared.targets.application import Answering, Asked, application, reply

Json = dict[str, JsonValue]
AT = datetime(2026, 3, 1, tzinfo=UTC)
INPUTS: Json = {"question": "Why?", "customer": {"name": "Ann"}}
VERSION = Record("p@2", PromptVersion(content="Answer: {{question}}", version_number=2), "v2", AT, AT)


@pytest.fixture
async def web() -> AsyncGenerator[ApplicationConnections]:
    async with ApplicationConnections() as opened:
        yield opened


def saying(*replies: bytes) -> Answering:
    """Answers in that order, the last one again and again."""
    left = list(replies)

    async def answering(asked: Asked) -> bytes:
        return left.pop(0) if len(left) > 1 else left[0]

    return answering


async def never(asked: Asked) -> bytes:
    await anyio.sleep_forever()
    return b""


async def produced(
    web: ApplicationConnections, settings: HttpSettings, *, version: Record[PromptVersion] | None = None, timeout_ms: int | None = None,
    inputs: Json = INPUTS, deadline_s: float = 10,
) -> Observed | TargetErrored:  # fmt: skip
    with anyio.fail_after(HANG_S):
        return await HttpTarget(settings, web, deadline_s).produce(inputs, version, timeout_ms=timeout_ms)


async def observed(web: ApplicationConnections, settings: HttpSettings, **asked: Json) -> Observed:
    found = await produced(web, settings, **asked)  # pyright: ignore[reportArgumentType]  inputs only
    assert isinstance(found, Observed), found
    return found


async def errored(
    web: ApplicationConnections, settings: HttpSettings, *, timeout_ms: int | None = None
) -> TargetErrored:
    found = await produced(web, settings, timeout_ms=timeout_ms)
    assert isinstance(found, TargetErrored), found
    return found


async def test_the_inputs_are_posted_as_json_and_a_mapping_is_the_output_itself(web: ApplicationConnections) -> None:
    async with application(saying(reply({"answer": "Because.", "sources": [1]}))) as app:
        found = await observed(web, HttpSettings(url=f"{app.url}/ask"))
    assert found.output == {"answer": "Because.", "sources": [1]}
    assert (found.produced_by, found.timed_out, found.tool_calls) == (f"{app.url}/ask", False, None)
    assert found.latency_ms is not None
    (asked,) = app.asked
    assert (asked.method, asked.path, asked.json()) == ("POST", "/ask", INPUTS)
    assert asked.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("body", "output"),
    [
        (b'"text"', {"output": "text"}), (b"plain words\n", {"output": "plain words"}), (b"[1, 2]", {"output": [1, 2]}),
        (b"", {"output": ""}), (b"NaN", {"output": "NaN"}), (b'"\\ud800"', {"output": '"\\ud800"'}), (b"\xff", {"output": "\ufffd"}),
    ],
)  # fmt: skip
async def test_whatever_is_no_mapping_becomes_one_with_the_key_output(
    web: ApplicationConnections, body: bytes, output: Json
) -> None:
    async with application(saying(reply(body))) as app:
        assert (await observed(web, HttpSettings(url=app.url))).output == output


async def test_selectors_read_output_tool_calls_and_usage(web: ApplicationConnections) -> None:
    answer: JsonValue = {
        "choices": [{"text": "Because."}], "steps": [{"name": "look", "args": {"q": 1}, "got": "x"}],
        "usage": {"in": 7, "out": 2, "usd": 0.5},
    }  # fmt: skip
    usage: JsonValue = {"inputTokens": "usage.in", "outputTokens": "usage.out", "costUsd": "usage.usd"}
    async with application(saying(reply(answer))) as app:
        settings = HttpSettings.model_validate(
            {
                "url": app.url, "output": "choices[0].text", "usage": usage,
                "toolCalls": "steps[].{tool: name, arguments: args, result: got}",
            }
        )  # fmt: skip
        found = await observed(web, settings)
    assert found.output == {"output": "Because."}
    assert found.tool_calls == (ToolCall(tool="look", arguments={"q": 1}, result="x"),)
    assert (found.input_tokens, found.output_tokens, found.cost_usd) == (7, 2, 0.5)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"output": "nothing.here"}, "its answer has no nothing.here"),
        ({"output": "abs(answer)"}, "abs(answer) cannot be read"),
        ({"toolCalls": "answer"}, "its tool calls are no list"),
        ({"usage": {"inputTokens": "answer"}}, 'answer is "x", not a number'),
    ],
)
async def test_an_answer_without_what_was_selected_is_the_targets_error(
    web: ApplicationConnections, settings: Json, said: str
) -> None:
    async with application(saying(reply({"answer": "x"}))) as app:
        found = await errored(web, HttpSettings.model_validate({"url": app.url, **settings}))
    assert said in found.reason
    assert not found.fatal


async def test_a_selector_on_an_answer_that_is_no_json_is_the_targets_error(web: ApplicationConnections) -> None:
    async with application(saying(reply(b"<html>oops</html>"))) as app:
        assert "its answer is not JSON: <html>oops" in (await errored(web, http_settings(f"{app.url}#a.b"))).reason


async def test_a_template_is_filled_with_the_inputs_keeping_their_types(web: ApplicationConnections) -> None:
    template: JsonValue = {
        "q": "Q: {{question}}",
        "who": "{{customer}}",
        "name": "{{customer.name}}",
        "all": ["{{inputs}}", 1],
    }
    async with application(saying(reply("x"))) as app:
        await observed(web, HttpSettings(url=app.url, input=template))
    assert app.asked[0].json() == {"q": "Q: Why?", "who": {"name": "Ann"}, "name": "Ann", "all": [INPUTS, 1]}


async def test_inputs_are_data_and_are_never_filled_again(web: ApplicationConnections) -> None:
    async with application(saying(reply("x"))) as app:
        settings = HttpSettings(url=f"{app.url}/?q={{{{question}}}}", input="{{question}}")
        await observed(web, settings, inputs={"question": "{{secret}}&b=/../#", "secret": "S"})
    assert app.asked[0].json() == "{{secret}}&b=/../#"
    assert app.asked[0].path == "/?q=%7B%7Bsecret%7D%7D%26b%3D%2F..%2F%23"


async def test_a_name_that_the_case_lacks_is_refused_and_nothing_is_sent(web: ApplicationConnections) -> None:
    async with application(saying(reply("x"))) as app:
        for settings in (
            HttpSettings(url=app.url, input="{{no}}"),
            HttpSettings(url=f"{app.url}/{{{{no}}}}", method="GET"),
        ):
            with pytest.raises(BadInputError, match=r"\{\{no\}\}"):
                await produced(web, settings)
        with pytest.raises(BadInputError, match="another address"):
            await produced(web, HttpSettings(url=f"{app.url}/{{{{q}}}}/x", method="GET"), inputs={"q": ".."})
    assert app.asked == []


async def test_a_get_has_no_body(web: ApplicationConnections) -> None:
    async with application(saying(reply("x"))) as app:
        await observed(web, HttpSettings(url=f"{app.url}/a?q={{{{question}}}}", method="GET"))
    assert (app.asked[0].method, app.asked[0].path, app.asked[0].body) == ("GET", "/a?q=Why%3F", b"")


async def test_a_prompt_version_is_sent_rendered_with_its_id(web: ApplicationConnections) -> None:
    async with application(saying(reply("x"))) as app:
        plain = await produced(web, HttpSettings(url=app.url), version=VERSION)
        await produced(web, HttpSettings(url=app.url, input={"p": "{{prompt}}"}), version=VERSION)
    assert [asked.json() for asked in app.asked] == [
        {**INPUTS, "prompt": "Answer: Why?", "promptVersion": "p@2"},
        {"p": "Answer: Why?"},
    ]
    assert isinstance(plain, Observed)
    assert plain.prompt_version_ref == "p@2"


@pytest.mark.parametrize(("method", "template"), [("POST", "{{question}}"), ("GET", None), ("GET", "{{prompt}}")])
async def test_a_version_of_which_the_application_would_not_be_told_is_refused(
    web: ApplicationConnections, method: str, template: str | None
) -> None:
    settings = HttpSettings.model_validate({"url": "http://localhost", "method": method, "input": template})
    with pytest.raises(BadInputError, match=r"p@2"):
        HttpTarget(settings, web, 1).vet(VERSION)
    HttpTarget(settings, web, 1).vet(None)


async def test_headers_are_sent_and_secrets_stand_in_no_digest_and_no_repr(web: ApplicationConnections) -> None:
    async with application(saying(reply("x"))) as app:
        settings = HttpSettings(url=app.url, headers={"x-team": "evals"}, headers_from={"Authorization": "APP_TOKEN"})
        target = HttpTarget(settings, web, 5, {"Authorization": "Bearer S3CRET"})
        await target.produce(INPUTS, None, timeout_ms=None)
    sent = app.asked[0].headers
    assert (sent["x-team"], sent["authorization"]) == ("evals", "Bearer S3CRET")
    assert "S3CRET" not in repr(target)
    assert target.digest() == HttpTarget(settings, web, 9, {"Authorization": "other"}).digest()
    assert target.digest() != HttpTarget(settings.model_copy(update={"method": "PUT"}), web, 5).digest()


@pytest.mark.parametrize(
    ("status", "fatal", "unanswered"),
    [("401 No", True, False), ("403 No", True, False), ("404 No", False, False), ("422 No", False, False),
     ("408 Late", False, True), ("429 Slow", False, True), ("500 Oops", False, True), ("503 Busy", False, True)],
)  # fmt: skip
async def test_a_status_that_is_no_success_is_the_targets_error(
    web: ApplicationConnections, status: str, *, fatal: bool, unanswered: bool
) -> None:
    async with application(saying(reply(b"too bad", status=status))) as app:
        found = await errored(web, HttpSettings(url=app.url))
    assert found == TargetErrored(f"{app.url}: HTTP {status[:3]}: too bad", fatal, unanswered)


async def test_nobody_at_the_address_is_an_outage(web: ApplicationConnections) -> None:
    async with application(saying(b"")) as app:
        pass
    found = await errored(web, HttpSettings(url=app.url))
    assert "no connection to" in found.reason
    assert found.unanswered


async def test_a_connection_that_breaks_off_is_an_outage(web: ApplicationConnections) -> None:
    async with application(saying(b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhal")) as app:
        found = await errored(web, HttpSettings(url=app.url))
    assert found.unanswered


async def test_beyond_the_cases_limit_the_application_has_timed_out_beyond_ours_it_is_an_outage(
    web: ApplicationConnections,
) -> None:
    async with application(never) as app:
        late = await produced(web, HttpSettings(url=app.url), timeout_ms=50)
        lost = await produced(web, HttpSettings(url=app.url), deadline_s=0.05)
        own = await produced(web, HttpSettings(url=app.url, timeout_seconds=0.05))
    assert isinstance(late, Observed)
    assert (late.timed_out, late.output) == (True, {})
    assert lost == own == TargetErrored(f"{app.url} did not answer within 0.05 s", unanswered=True)


async def test_an_answer_that_never_ends_is_given_up_at_the_size_limit(web: ApplicationConnections) -> None:
    async with application(saying(reply(b"x" * (MOST_BYTES + 1)))) as app:
        assert "longer than 16 MB" in (await errored(web, HttpSettings(url=app.url))).reason


async def test_redirects_are_followed_on_the_same_host_with_method_and_body(web: ApplicationConnections) -> None:
    async with application(saying(reply(b"", status="307 There", location="/there"), reply("here"))) as app:
        found = await observed(web, HttpSettings(url=f"{app.url}/here"))
    assert found.output == {"output": "here"}
    assert [(asked.method, asked.path, asked.json()) for asked in app.asked] == [
        ("POST", "/here", INPUTS),
        ("POST", "/there", INPUTS),
    ]


async def test_redirects_to_another_host_or_port_are_not_followed_and_no_header_goes_there(
    web: ApplicationConnections,
) -> None:
    async with application(saying(reply("stolen"))) as other:
        for elsewhere in (f"{other.url}/x", "http://localhost/", "file:///etc/passwd", ""):
            async with application(saying(reply(b"", status="302 There", location=elsewhere))) as app:
                found = await errored(web, HttpSettings(url=app.url, method="GET", headers={"x-key": "k"}))
            assert "redirects to another server" in found.reason
            assert found.fatal
    assert other.asked == []


async def test_a_redirect_that_would_drop_the_body_or_goes_in_circles_is_an_error(web: ApplicationConnections) -> None:
    async with application(saying(reply(b"", status="302 There", location="/x"))) as app:
        assert "redirects a POST" in (await errored(web, HttpSettings(url=app.url))).reason
        assert "more than 5 times" in (await errored(web, HttpSettings(url=app.url, method="GET"))).reason


async def test_no_cookie_of_one_case_reaches_another(web: ApplicationConnections) -> None:
    async with application(saying(reply("x", set_cookie="who=first"))) as app:
        for _ in range(2):
            await observed(web, HttpSettings(url=app.url))
    assert all("cookie" not in asked.headers for asked in app.asked)


@pytest.mark.parametrize("before", ["", "http:", "https:"])
def test_an_address_may_stand_behind_its_kind_and_select_the_output(before: str) -> None:
    found = http_settings(f"{before}https://example.org/ask?k=1#choices[0].text")
    assert (found.url, found.output) == ("https://example.org/ask?k=1", "choices[0].text")
    assert found.name == "https://example.org/ask"


@pytest.mark.parametrize(
    "target", ["http:", "http://", "http:example.org", "http://h:99999/", "http://me:pw@h/", "http://{{host}}/", "http://h/#[?"]
)  # fmt: skip
def test_what_is_no_address_or_no_selector_is_refused(target: str) -> None:
    with pytest.raises(BadInputError, match="target"):
        http_settings(target)


def test_a_header_that_is_none_is_refused() -> None:
    with pytest.raises(ValidationError, match="not a header name"):
        HttpSettings(url="http://h", headers={"a\r\nb": "c"})
