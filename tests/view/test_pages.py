"""What the pages show; and whatever was under test is text on every one of them."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import httpx2
import pytest
from starlette.types import Message, Scope

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.interop.audit.audits import audit
from minions_evals_mcp.store.queries.pages.run_cases import holding, lines_at, run_index
from minions_evals_mcp.view.app import view_app
from minions_evals_mcp.view.case_index import named
from tests.shared.report.hostile import NAME, PAYLOADS, hostile_runs
from tests.shared.view.visitor import HOME, KEYS, visitor, waiting
from tests.workshop import Json, answer, bench, benchmark, case, config_in, first, fleet, measured, opened, rubric, save

OURS = tuple([("src", f"/{name}.js")] for name in ("page", "htmx", "theme", "uplot", "trend"))


class Markup(HTMLParser):
    """What a browser would find on a page that none of ours holds."""

    def __init__(self) -> None:
        super().__init__()
        self.foreign: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes a tag or an attribute through which something could be loaded or run."""
        for name, value in attrs:
            if name.startswith("on") or name == "style":
                self.foreign.append(f"{tag} {name}={value}")
            if name in {"src", "href", "action", "formaction"} and not re.match("/[^/]|/$|[?#]", value or ""):
                self.foreign.append(f"{tag} {name}={value}")
        if tag in {"img", "iframe", "object", "base"} or (tag == "script" and attrs[:1] not in OURS):
            self.foreign.append(tag)


def foreign(page: str) -> list[str]:
    """What stands on the page and is not ours."""
    found = Markup()
    found.feed(page)
    return found.foreign


async def text(client: httpx2.AsyncClient, address: str) -> str:
    """The page at that address."""
    found = await client.get(address)
    assert found.status_code == 200, found.text
    return found.text


async def test_a_new_store_says_what_to_do_first(engine: Engine) -> None:
    async with visitor(engine) as client:
        assert "minions-evals demo" in await text(client, "/")
        for page, told in (
            ("/", "minions-evals eval promptfooconfig.yaml"),
            ("/", "minions-evals run-benchmark BENCHMARK"),
            ("/runs", "No runs."),
            ("/failures", "No benchmark has run yet"),
            ("/failures", "are not counted here."),
            ("/prompts", "No prompt version is recorded here"),
            ("/outbox", "Nothing is queued."),
        ):
            assert told in await text(client, page)


async def test_the_overview_shows_benchmarks_what_goes_on_and_what_waits(engine: Engine) -> None:
    await waiting(engine, 3)
    await save(engine, [case("x", expectedOutputs={"output": "good"}), answer("y", "x", "good")], benchmark("d", "x"))
    await bench(engine, "d")
    async with visitor(engine) as client:
        page = await text(client, "/")
        assert "3 outputs wait to be judged" in page
        assert "0 of 3" in page
        assert "100\u202f%" in page
        assert "◌ waits" in await text(client, "/running")


async def test_a_benchmark_shows_its_history_its_regression_and_its_runs(engine: Engine) -> None:
    await fleet(engine, 10)
    await measured(engine, "v1", first(10, 10))
    async with visitor(engine) as client:
        assert "drawn trend" not in await text(client, "/benchmark?id=b"), "one run is no line"
        await measured(engine, "v2", first(2, 10))
        page = await text(client, "/benchmark?id=b")
        assert 'class="drawn trend"' in page
        assert "regressed: " in page
        assert "▼ regressed" not in page, "the sentence says it"
        assert "2 of 10" in page
        assert "/comparison?before=job1&amp;after=job2" in page
        assert "▼ regressed" in await text(client, "/")
        beside = await text(client, "/report?id=job2&compare=job1")
        assert "newly failing" in beside


async def test_a_benchmark_that_never_ran_says_how_to_run_it(engine: Engine) -> None:
    await fleet(engine, 1)
    async with visitor(engine) as client:
        assert "minions-evals run-benchmark b" in await text(client, "/benchmark?id=b")


async def test_the_cases_of_a_run_are_paged_filtered_and_searched_the_failed_ones_first(engine: Engine) -> None:
    await fleet(engine, 120)
    await measured(engine, "v", first(100, 120))
    async with visitor(engine) as client:
        for address, shown, rows, first_status in (
            ("", "120 of 120 shown", 100, "failed"),
            ("&page=2", "120 of 120 shown", 20, "passed"),
            ("&status=passed", "100 of 120 shown", 100, "passed"),
            ("&sort=-score", "120 of 120 shown", 100, "passed"),
            ("&sort=case&columns=all", "120 of 120 shown", 100, "passed"),
            ("&cause=wrong-output", "20 of 120 shown", 20, "failed"),
            ("&q=C99&status=passed", "1 of 120 shown", 1, "passed"),
            ("&q=nowhere", "0 of 120 shown", 0, ""),
        ):
            page = await text(client, f"/run?id=job1{address}")
            assert shown in page
            assert page.count('href="/case?') == rows
            assert re.findall('<td class="(failed|passed) short"', page)[:1] == ([first_status] if rows else [])


async def test_passes_are_told_by_tag_and_a_tag_chooses_its_cases(engine: Engine) -> None:
    cases = [
        case(f"c{n}", expectedOutputs={"output": "good"}, tags=["even" if n % 2 == 0 else "odd"]) for n in range(6)
    ]
    await save(engine, cases, benchmark("b", *(f"c{n}" for n in range(6))))
    await measured(engine, "v", [True, False] * 3)
    async with visitor(engine) as client:
        page = await text(client, "/run?id=job1")
        assert page.index(">odd</a>") < page.index(">even</a>"), "most failures first"
        assert "3 of 6 shown" in await text(client, "/cases?id=job1&tag=odd")
        assert (await text(client, "/cases?id=job1&tag=odd")).count('href="/case?') == 3


async def test_a_search_keeps_its_words_when_a_page_is_turned(engine: Engine) -> None:
    await fleet(engine, 120)
    await measured(engine, "v", first(110, 120))
    async with visitor(engine) as client:
        page = await text(client, "/run?id=job1&status=passed&q=c")
        assert 'href="?id=job1&amp;q=c&amp;status=passed&amp;page=2"' in page


async def test_failures_are_grouped_by_cause_and_lead_to_their_cases(engine: Engine) -> None:
    await fleet(engine, 10)
    await measured(engine, "v1", first(4, 10))
    async with visitor(engine) as client:
        page = await text(client, "/failures")
        assert "wrong-output: 6" in page
        (address,) = re.findall('<li><a href="(/run[^"]+)"', page)
        assert "6 of 10 shown" in await text(client, address.replace("&amp;", "&"))


async def test_the_outbox_shows_what_is_told_and_goes_back_in_time(engine: Engine) -> None:
    await fleet(engine, 2)
    for number in range(54):
        await measured(engine, f"v{number}", first(2 - 2 * (number % 2), 2))
    async with visitor(engine) as client:
        page = await text(client, "/outbox")
        assert page.count("<details>") == 50
        assert page.index("Alerts") < page.index("benchmark-regression")
        assert "regression" in page
        (older,) = re.findall('rel="next" href="([^"]+)"', page)
        assert 0 < (await text(client, older)).count("<details>") <= 50


async def test_a_run_in_progress_is_renewed_and_a_finished_one_is_not(engine: Engine) -> None:
    job = await waiting(engine, 2)
    async with visitor(engine) as client:
        assert f'hx-get="/progress?id={job.id}"' in await text(client, f"/run?id={job.id}")
        assert "data-live" in await text(client, f"/progress?id={job.id}")
        await fleet(engine, 1)
        await measured(engine, "v", [True])
        assert "hx-get" not in await text(client, "/run?id=job2")
        begun = await client.get(f"/run?id={job.id}", headers={"HX-Target": "cases"})
        assert begun.text.startswith("<section"), "the part that is exchanged, and no more"
        again = await client.get(f"/cases?id={job.id}", headers={"If-None-Match": begun.headers["etag"]})
        assert (begun.status_code, again.status_code) == (200, 304), "what the browser shows already is not sent again"
        assert "data-live" not in await text(client, "/progress?id=job2")
        listed = await client.get("/running")
        again = await client.get("/running", headers={"If-None-Match": listed.headers["etag"]})
        assert again.status_code == 304


async def test_an_output_of_megabytes_is_cut_with_a_word_where_all_of_it_is(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs={"output": "x"}), benchmark("d", "c"))
    await save(engine, answer("a", "c", "word " * 100_000))
    await bench(engine, "d")
    async with visitor(engine) as client:
        page = await text(client, "/case?run=job1&at=0.1")
        assert len(page) < 100_000
        assert "450000 more characters" in page


@pytest.mark.parametrize(
    ("address", "status", "told"),
    [
        ("/run?id=none", 404, "no run, benchmark or comparison with the id"),
        ("/run", 400, "the address has no id="),
        ("/benchmark?id=none", 404, "no benchmark with the id"),
        ("/case?run=none&at=0.1", 404, "no case of that run"),
        ("/case?run=none&at=x", 400, "does not name a case"),
        ("/runs?page=0", 400, "no page"),
        ("/runs?page=²", 400, "no page"),
        ("/outbox?before=x", 400, "no row"),
        ("/report?id=none", 404, "no run, benchmark or comparison"),
        ("/run?id=job1&sort=colour", 400, "cannot sort by"),
        ("/comparison?before=none&after=job1", 404, "no run, benchmark or comparison"),
        ("/comparison", 400, "the address has no before="),
        ("/matrix?id=none", 404, "no benchmark"),
        ("/matrix?id=b&run=none", 404, "no run"),
        ("/agreement?id=none", 404, "no benchmark"),
        ("/nothing", 404, "There is no page at this address."),
        ("/run?id=<script>x</script>", 404, "&lt;script&gt;x"),
    ],
)
async def test_what_is_not_there_is_told_with_a_remedy(engine: Engine, address: str, status: int, told: str) -> None:
    await fleet(engine, 1)
    await measured(engine, "v", [True])
    async with visitor(engine) as client:
        found = await client.get(address)
    assert found.status_code == status
    assert told in found.text
    assert "That did not work" in found.text


async def test_nothing_under_test_becomes_markup_on_any_page(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine, visitor(engine) as client:
        await hostile_runs(engine)
        cases = [f"/case?run=job2&at={number}.1" for number in range(len(PAYLOADS))]
        pages = ["/", "/runs", "/failures", "/outbox", "/benchmark?id=b", "/run?id=job2", "/progress?id=job2", "/prompts",
                 "/comparison?before=job1&after=job2", "/matrix?id=b", "/run?id=job2&columns=all",
                 "/matrix?id=b&only=failed", "/costs", "/trajectory?run=job2&at=0.1", *cases]  # fmt: skip
        for address in pages:
            page = await text(client, address)
            assert foreign(page) == [], address
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page), address
        assert "&lt;script&gt;" in await text(client, cases[0])
        assert "of a cluster" in await text(client, "/run?id=job2"), "workers stand on the page, too"


async def test_hostile_outputs_are_text_in_the_queue_too(engine: Engine) -> None:
    asked: Json = {"name": NAME, "description": PAYLOADS[0], "scoringGuide": PAYLOADS[9], "judgeType": "human"}
    names = [f"h{number}" for number in range(len(PAYLOADS))]
    await save(engine, rubric("r", 0.5, name=asked))
    for name, payload in zip(names, PAYLOADS, strict=True):
        await save(engine, case(name, name=f"{NAME} {payload}", rubricId="r"), answer(f"a{name}", name, payload))
    await save(engine, benchmark("d", *names))
    await bench(engine, "d")
    async with visitor(engine) as client:
        address = "/judge"
        for _ in names:
            page = await text(client, address)
            assert foreign(page) == []
            (digest,) = re.findall('name="digest" value="([^"]+)"', page)
            address = f"/judge?after={digest}"


async def test_a_run_s_answer_is_sent_before_its_cases_are_read(engine: Engine) -> None:
    await fleet(engine, 60)
    job = await measured(engine, "v", first(40, 60), key="k")
    assert job.total_count == 60
    sent: list[Message] = []

    async def asked() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def keep(message: Message) -> None:
        sent.append(message)

    cookie = f"{KEYS.cookie}={KEYS.session}".encode()
    scope: Scope = {
        "type": "http", "method": "GET", "path": "/run", "raw_path": b"/run", "query_string": b"id=k", "root_path": "",
        "scheme": "http", "server": ("127.0.0.1", KEYS.port), "client": None, "http_version": "1.1",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "headers": [(b"host", HOME.removeprefix("http://").encode()), (b"cookie", cookie)],
    }  # fmt: skip
    await view_app(engine, KEYS)(scope, asked, keep)
    begun, rest, *_ = [message["body"].decode() for message in sent if message["type"] == "http.response.body"]
    assert "40 of 60 passed" in begun
    assert "/case?" not in begun
    assert rest.count('href="/case?') == 60
    assert "60 of 60 shown" in rest


async def test_the_audit_of_a_benchmark_says_what_its_checks_let_pass(engine: Engine) -> None:
    await save(
        engine,
        [case("c", expectedOutputs={"output": "good"}, inputs={"q": "good or <b>bad</b>?"})],
        benchmark("b", "c"),
    )
    async with visitor(engine) as page:
        assert "never audited" in (await page.get("/audit?id=b")).text
        await audit(engine, "b")
        shown = (await page.get("/audit?id=b")).text
        assert "cheats pass 1 of 1 cases" in shown
        assert "its own input" in shown
        assert "<b>bad" not in shown
        assert not foreign(shown)
        assert 'href="/case?id=c"' in shown
        assert (await page.get("/case?id=c")).status_code == 404, "it has not been run"
        await save(engine, [answer("a", "c", "good", inputs={"q": "good or <b>bad</b>?"})])
        job = await bench(engine, "b")
        assert (await page.get("/case?id=c")).headers["location"] == f"/case?run={job.id}&at=0.1"


SAID: dict[str, str | Json] = {
    "quoted": 'He said "no" to C:\\temp',
    "foreign": "Größe 10 µm, naïve 東京",
    "lines": "first\nsecond/third",
    "structured": {"answer": "Yes", "places": [1, 2]},
    "loud": "REFUND granted (100 %)",
}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ('"no" to C:\\', ["quoted"]),
        ("Größe", ["foreign"]),
        ("東京", ["foreign"]),
        ("second/th", ["lines"]),
        ("first\nsecond", ["lines"]),
        ("refund GRANTED (100 %)", ["loud"]),
        ('"answer":"Yes"', ["structured"]),
        ("[1,2]", ["structured"]),
        ("QUOTED", ["quoted"]),
        ("isRegression", []),
        ("icontains", []),
        ("_", []),
        ("loud REFUND", []),
    ],
)
async def test_a_search_finds_what_id_title_or_output_hold_and_nothing_that_is_kept_beside_them(
    engine: Engine, asked: str, found: list[str]
) -> None:
    cases = [
        case(name, name=name, inputs={"q": name}, assertions=[{"type": "icontains", "value": "zz"}]) for name in SAID
    ]
    await save(engine, [*cases, *(answer(f"{name}@", name, said, inputs={"q": name}) for name, said in SAID.items())])
    await save(engine, [benchmark("b", *SAID)])
    job = await bench(engine, "b")
    said = await engine.store.read(lambda db: holding(db, job.id, asked))
    places = said | named(await engine.store.read(lambda db: run_index(db, job.id)), asked)
    lines = await engine.store.read(lambda db: lines_at(db, job.id, sorted(places)))

    assert sorted(line.case_id for line in lines) == sorted(found)
