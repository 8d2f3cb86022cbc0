"""Reports in every form, from suites that are ordinary and suites that are hostile."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import xmlschema
from hypothesis import given
from hypothesis import strategies as st
from justhtml import JustHTML
from pydantic import JsonValue
from pydantic_core import to_json

from minions_evals_mcp.domain.results import Evidence
from minions_evals_mcp.engine.answers.report_values import ReportTrendPoint
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.report.charts.trend import trend_chart
from minions_evals_mcp.report.documents.case_lines import LONG, SHORT, Room, embedded
from minions_evals_mcp.report.documents.forms import FORMS, form_of
from minions_evals_mcp.report.markdown import FITS, inert
from minions_evals_mcp.report.plain import revealed
from tests.shared.report.hostile import LONG as VERY_LONG
from tests.shared.report.hostile import NAME, PAYLOADS, hostile_runs, said, written
from tests.workshop import (
    START,
    answer,
    bench,
    benchmark,
    case,
    config_in,
    first,
    fleet,
    measured,
    opened,
    rubric,
    save,
    says,
)

SCHEMA = xmlschema.XMLSchema(Path(__file__).with_name("junit.xsd"))
BOTH = pytest.mark.parametrize("compare", [None, "one"])
ACTING = {"onerror", "onload", "onclick", "style", "href", "src", "srcdoc", "action", "formaction"}
ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "p", "code", "main", "section", "dl", "div", "dt", "dd",
    "span", "table", "thead", "tbody", "tr", "th", "td", "figure", "svg", "g", "rect", "path", "text", "circle", "details", "summary",
    "label", "input", "line", "li", "strong", "br", "select", "option", "output", "ol", "nav", "button", "noscript", "script",
}  # fmt: skip


@pytest.fixture(scope="module")
async def hostile(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Engine]:
    """An engine on a store with two hostile runs, `one` and `two`; for tests that only read."""
    async with opened(config_in(tmp_path_factory.mktemp("hostile"))) as engine:
        await hostile_runs(engine)
        yield engine


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """Async tests run on asyncio."""
    return "asyncio"


class Seen(HTMLParser):
    """What a parser of HTML finds: the elements, their attributes, and the text of the data blocks."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.text: list[str] = []
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._inside = tag
        self.attributes.update((name, value or "") for name, value in attrs)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            kept, text = self.scripts[-1]
            self.scripts[-1] = (kept, text + data)
        elif self._inside != "style":
            self.text.append(data)


def output(tried: list[JsonValue]) -> str:
    """What a trial of a case put out, of the line that the page's script reads."""
    said = tried[5]
    assert isinstance(said, dict)
    return str(said["output"])


@BOTH
async def test_html_holds_what_was_under_test_as_data_only(hostile: Engine, compare: str | None) -> None:
    text = await written(hostile, ".html", "two", compare=compare)
    seen = Seen(text)
    assert seen.tags <= ALLOWED
    assert not {name for name, _ in seen.attributes} & ACTING
    assert [kept.get("type") for kept, _ in seen.scripts] == ["application/json", "application/json", None]
    lines = [line.split("\t") for line in seen.scripts[1][1].strip().split("\n")]
    assert len(lines) == len(PAYLOADS)
    told = [[json.loads(part) for part in line] for line in lines]
    assert {brief[0] for brief, *_ in told} == {f"c{number}" for number in range(len(PAYLOADS))}
    assert {output(tried) for _, _, tried, _ in told} == {said("two", payload, 0) for payload in PAYLOADS}
    beside = {output(before) for *_, before in told if before is not None}
    assert beside == ({said("one", payload, 0) for payload in PAYLOADS} if compare else set())
    assert not re.search("[\x00-\x08\x0e-\x1f\u202a-\u202e\u2066-\u2069]", text)
    assert "document.title" in "".join(seen.text)  # the names, as text


@BOTH
async def test_html_says_the_same_to_a_second_parser(hostile: Engine, compare: str | None) -> None:
    document = JustHTML(await written(hostile, ".html", "two", compare=compare), sanitize=False)
    assert len(document.query("script")) == 3
    (heading,) = document.query("h1")
    assert "document.title='owned'" in heading.to_text()


async def test_html_lets_nothing_in_or_out(hostile: Engine) -> None:
    text = await written(hostile, ".html", "two")
    policy = re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    said = policy[1].replace("&#39;", "'")
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-\S+'; script-src 'sha256-\S+'; base-uri 'none'; form-action 'none'",
        said,
    )
    assert not re.search(r"""(?:src|href|url)\s*[=(]\s*["']?(?:https?:)?//""", text.split('id="labels"')[0])


@BOTH
async def test_junit_fits_its_schema_and_counts_what_it_holds(hostile: Engine, compare: str | None) -> None:
    text = await written(hostile, ".xml", "two", compare=compare)
    SCHEMA.validate(text)
    suite = ET.fromstring(text.encode())[0]  # noqa: S314  made just now
    assert suite.get("failures") == str(len(suite.findall("testcase/failure"))) == str(len(PAYLOADS))
    assert suite.get("tests") == str(len(suite.findall("testcase")))
    assert "document.title" in str(suite.get("name"))


@BOTH
async def test_markdown_fits_a_comment_and_has_no_markup_but_ours(hostile: Engine, compare: str | None) -> None:
    text = await written(hostile, ".md", "two", compare=compare)
    assert len(text) <= FITS
    assert Seen(text).tags <= {"details", "summary", "code", "pre", "del", "ins"}
    blocks = re.findall(r"<details>.*?</details>", text, flags=re.DOTALL)
    assert len(blocks) == len(PAYLOADS)
    assert not any("\n\n" in block for block in blocks)  # a blank line would end the block and let Markdown in
    outside = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    assert not re.search(r"javascript:|https?:|@everyone|<script", outside)


@BOTH
async def test_json_has_everything_and_csv_no_formula(hostile: Engine, compare: str | None) -> None:
    found = json.loads(await written(hostile, ".json", "two", compare=compare))
    outputs = {one["testCaseId"]: one["tried"]["output"]["output"] for one in found["cases"]}
    assert outputs == {f"c{number}": f"{text} changed" for number, text in enumerate(PAYLOADS)}
    assert found["answer"].startswith(NAME)
    rows = list(csv.DictReader(io.StringIO(await written(hostile, ".csv", "two", compare=compare), newline="")))
    assert {row["testCaseId"] for row in rows} == set(outputs)
    cells = [cell for row in rows for cell in row.values()]
    assert not [cell for cell in cells if cell[:1] in {"=", "+", "@", "\t", "\r"}]
    assert "'=cmd|'/C calc'!A0 changed" in cells


async def test_a_very_long_output_is_cut_where_a_person_reads_and_whole_for_programs(engine: Engine) -> None:
    await hostile_runs(engine, long=VERY_LONG)
    sizes = {form: len(await written(engine, form, "two", compare="one")) for form in FORMS}
    assert sizes[".json"] > 2 * VERY_LONG
    assert all(sizes[form] < 200_000 for form in (".html", ".md", ".xml", ".csv")), sizes
    assert "more characters" in await written(engine, ".html", "two")


async def test_markdown_says_how_many_cases_found_no_room(engine: Engine) -> None:
    await save(engine, rubric("r", 1, word=says("zzz")), [case(f"c{n}", rubricId="r") for n in range(60)])
    await save(
        engine,
        benchmark("b", *(f"c{n}" for n in range(60))),
        [answer(f"a{n}", f"c{n}", "a <b> c\n" * 300) for n in range(60)],
    )
    await bench(engine, "b")
    text = await written(engine, ".md", "b")
    assert len(text) <= FITS
    left_out = re.search(r"(\d+) more cases failed or changed", text)
    assert left_out is not None
    assert text.count("<details>") + int(left_out[1]) == 60


async def test_an_instrument_that_failed_is_an_error_and_what_was_not_run_is_skipped(engine: Engine) -> None:
    await save(engine, [case(name, expectedOutputs={"output": "good"}) for name in ("passed", "failed", "none")])
    await save(engine, case("broken", inputs={"q": "broken"}, expectedOutputs={"output": "good"}))
    await save(
        engine,
        benchmark("b", "passed", "failed", "none", "broken"),
        answer("1", "passed", "good"),
        answer("2", "failed", "bad"),
    )
    outage = answer("3", "broken", "", status="failed", errorMessage="503 Service Unavailable")
    await save(engine, outage)
    await bench(engine, "b")
    text = await written(engine, ".xml", "b")
    SCHEMA.validate(text)
    suite = ET.fromstring(text.encode())[0]  # noqa: S314  made just now
    told = {one.get("name"): [child.tag for child in one] for one in suite.findall("testcase")}
    assert told == {"passed": [], "failed": ["failure"], "none": ["skipped"], "broken": ["error"]}
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["4", "1", "1", "1"]
    markdown = await written(engine, ".md", "b")
    assert "not scored" in markdown
    assert "1 of 2 passed" in markdown


async def test_side_by_side_html_shows_both_outputs_and_every_change(engine: Engine) -> None:
    await fleet(engine, 2)
    await measured(engine, "v", [True, True], key="one")
    await measured(engine, "w", [True, False], key="two")
    seen = Seen(await written(engine, ".html", "two", compare="one"))
    labels = json.loads(seen.scripts[0][1])
    assert labels["sides"] == ["before: v", "after: w"]
    brief, _, tried, before = (json.loads(part) for part in seen.scripts[1][1].split("\n")[0].split("\t"))
    words = "newly failing: 1.00 → 0.00"
    assert brief == ["c1", "c1", 1, "failed", 0.0, 1.0, "wrong-output", "newly-failing", words]
    assert (output(before), output(tried)) == ("good", "bad")
    assert (before[1], tried[1]) == ("scored", "scored")


async def test_the_answer_comes_first_in_words_that_say_whether_it_is_good(engine: Engine) -> None:
    await fleet(engine, 10, passingThreshold=0.5)
    answers: list[str] = []
    for version, passing in (("v", 9), ("w", 6), ("x", 4)):
        await measured(engine, version, first(passing, 10), key=version)
        answers.append(json.loads(await written(engine, ".json", version))["answer"])
    assert answers[0] == "b passed: 9 of 10 passed (90 %, 95 %: 55–100 %), score 0.900, 0.5 is needed."
    assert answers[1].startswith("b passed: 6 of 10 passed"), "three of ten cases decide nothing"
    beside = json.loads(await written(engine, ".json", "x", compare="v"))["answer"]
    assert beside == "b: inconclusive; 5 newly failing, of 10 comparable cases; passed 9 → 4 of 10."


def test_an_extension_without_a_form_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(BadInputError, match="pdf") as refused:
        form_of(Path("report.pdf"))
    assert ".html, .md, .xml, .json, .csv" in refused.value.remedy
    assert form_of(Path("REPORT.HTML")) is FORMS[".html"]


def test_texts_are_cut_shorter_once_a_file_is_full() -> None:
    room, told = Room(left=LONG + 100), json.dumps({"said": ["x" * 2 * LONG]})
    assert json.loads(room.fitted(told))["said"][0].startswith("x" * LONG + f"\n… {LONG} more characters")
    assert room.fitted(json.dumps("x" * SHORT)) == json.dumps("x" * SHORT)
    assert json.loads(room.fitted(told))["said"][0].startswith("x" * SHORT + "\n… ")


@given(st.text() | st.text(alphabet='<>&\x7f\x85\u202e\u2028é\\"\n'))
def test_what_is_put_into_a_script_element_hides_nothing_and_says_the_same(text: str) -> None:
    told = embedded(to_json({text: [text]}).decode())
    assert json.loads(told) == {text: [text]}
    assert not re.search("[<>&\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f]", told)


def test_what_cannot_be_seen_is_spelled_out() -> None:
    assert revealed("a\u202eb\x1b[1m\r\nc\td\ud800") == "a⟨U+202E⟩b⟨U+001B⟩[1m\nc\td⟨U+D800⟩"


def point(
    score: float,
    *,
    new_series: bool = False,
    is_regression: bool = False,
    at: datetime = START,
    evidence: Evidence | None = None,
) -> ReportTrendPoint:
    return ReportTrendPoint(
        run_id="r", at=at, score=score, interval=(max(0.0, score - 0.1), min(1.0, score + 0.1)), passed=1, total=2, version=None,
        new_series=new_series, is_regression=is_regression, evidence=evidence,
    )  # fmt: skip


def test_a_chart_has_a_line_for_each_series_an_interval_for_each_point_and_a_mark_at_each_regression() -> None:
    fell = point(0.5, is_regression=True, evidence="supported")
    chance = point(0.6, is_regression=True, evidence="within-noise")
    points = [point(0.9), point(0.8), chance, fell, point(0.7, new_series=True), point(0.75)]
    root = ET.fromstring(trend_chart(points, threshold=0.6, label='a "<label>'))  # noqa: S314  made just now
    classes = [one.get("class") or "" for one in root.iter()]
    assert root.get("aria-label") == 'a "<label>'
    assert sum(name == "ci" for name in classes) == 6
    assert classes.count("dot fell") == 1, "what chance can do is no regression"
    assert [one.text for one in root.iter() if (one.get("class") or "").startswith("label")] == [
        "▼ regression",
        "new series",
    ]
    assert classes.count("line") == 2
    assert classes.count("line threshold") == 1
    assert not {one.tag.rpartition("}")[2] for one in root.iter()} & {"script", "style", "title", "a"}
    assert not [one for one in root.iter() if one.get("style")]


def test_the_name_of_the_newest_version_stands_before_its_line_where_the_end_has_no_room() -> None:
    versions = ["support/prompt@1", "support/prompt@2"]
    points = [
        point(0.5, at=START + timedelta(days=day)).model_copy(update={"version": name})
        for day, name in enumerate(versions)
    ]
    root = ET.fromstring(trend_chart(points, threshold=None, label="x"))  # noqa: S314  made just now
    named = [(one.text, one.get("text-anchor")) for one in root.iter() if one.get("class") == "versioned"]
    assert named == [(versions[0], None), (versions[1], "end")]


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (timedelta(seconds=4), "09:00:02"),
        (timedelta(hours=3), "10:00"),
        (timedelta(days=5), "23 Nov"),
        (timedelta(days=60), "5 Dec"),
        (timedelta(days=1500), "Dec 2027"),
    ],
)
def test_the_time_axis_can_be_read_at_every_range(span: timedelta, words: str) -> None:
    points = [point(0.5, at=START + span * part / 4) for part in range(5)]
    root = ET.fromstring(trend_chart(points, threshold=None, label="x"))  # noqa: S314  made just now
    dates = [one for one in root.iter() if one.get("class") == "tick" and one.get("text-anchor") == "middle"]
    assert words in [one.text for one in dates]
    assert 2 <= len(dates) <= 9
    ends = [float(one.get("x") or 0) for one in dates]
    assert all(other - one > 40 for one, other in pairwise(ends)), "no date stands in another's place"


@pytest.mark.parametrize(("threshold", "lines"), [(0.0, 0), (0.5, 1)])
async def test_a_chart_has_a_line_for_a_threshold_and_none_where_nothing_is_needed(
    engine: Engine, threshold: float, lines: int
) -> None:
    await fleet(engine, 2, passingThreshold=threshold)
    for key in ("one", "two"):
        await measured(engine, key, [True, False], key=key)
    text = await written(engine, ".html", "two")
    assert text.count('class="line threshold"') == lines
    assert ("the dashed line is the threshold" in text) == (threshold > 0)


@pytest.mark.parametrize(
    ("text", "written"),
    [("08:34 UTC", "08:34 UTC"), ("3:100:", "3&#58;100:"), (":+1:", "&#58;+1:"), ("a:b", "a&#58;b")],
)
def test_a_time_of_day_is_readable_in_markdown_and_no_emoji_begins(text: str, written: str) -> None:
    assert inert(text) == written
