"""XML and HTML, whole and among prose: several roots, entity bombs, what a browser makes of it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.kinds.xml_tree import ElementSpan, candidates, flaw, has_path, tree
from minions_evals_mcp.scoring.assertions.table import check, vet
from minions_evals_mcp.scoring.checks import Checked, Subject, Unchecked

BOMB = '<!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><a>&c;</a>'
KINDS = ("is-xml", "contains-xml", "is-html", "contains-html")
PIECES = st.sampled_from([*"<>/ab= \"'!?-[]&;D.\n", "<a>", "</a>", "<a/>", "<!--", "-->", "<![CDATA[", "]]>", "<?x ?>"])
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=30).map("".join))


def passes(kind: str, output: str, value: JsonValue = None) -> bool:
    """Whether a vetted assertion passes, once it is seen that `not-` turns it round."""
    results: list[bool] = []
    for name in (kind, f"not-{kind}"):
        assertion = Assertion(type=name, value=value)
        vet(assertion)
        found = check(assertion, Subject(output))
        assert isinstance(found, Checked)
        assert found.score == float(found.passed)
        results.append(found.passed)
    assert results[0] is not results[1]
    return results[0]


@pytest.mark.parametrize(
    ("output", "value", "whole", "inside"),
    [
        ("<a><b>x</b></a>", "a.b", True, True),
        ("<a><b>x</b></a>", "a.c", False, False),
        ("<a><b/></a><a/>", None, False, True),
        ("say <a><b/></a> now", ["a", "a.b"], False, True),
        ("<a><b/></a> and <a><b/></a>", "a.b", False, False),
        ("<a><b/></a> and <a><b/></a>", "a.1.b", False, True),
        ("<a><b/></a> and <a><b/></a>", "a.2", False, False),
        ("<a><b/></a> and <a><b/></a>", "a.01", False, False),
        ("<r><i/><i/></r>", {"requiredElements": ["r.i.1"]}, True, True),
        ('<a b="1"/>', "a.@_b", True, True),
        ("<a>5</a>", "a", True, True),
        ("<a>5</a>", "a.b", False, False),
        ("<a>x<b/></a>", "a.#text", True, True),
        ("<?xml version='1.0'?><a/>", "?xml.@_version", True, False),
        ("<1>x</1>", "1", False, False),
        ("<_5/>", ["_5"], True, True),
        ("<r><i/><i/><i/></r>", "r.i.2", True, True),
        ("<?p it's?><a/>", None, False, True),
        ("<a>", None, False, False),
        ("<a><b></a></b>", None, False, False),
        ("<a>&nbsp;</a>", None, False, True),
        ("<p:a/>", None, False, True),
        ("", None, False, False),
        ("", "a", False, False),
    ],
)
def test_xml_is_whole_or_inside(output: str, value: JsonValue, whole: bool, inside: bool) -> None:
    assert passes("is-xml", output, value) is whole
    assert passes("contains-xml", output, value) is inside


def test_an_entity_bomb_is_refused_before_it_is_read() -> None:
    assert flaw(BOMB) == "its document type has an internal subset"
    assert not passes("is-xml", BOMB)
    assert tree(f"<x>{BOMB}</x>") is None
    assert not passes("contains-xml", f"<x>{BOMB}</x>")


def test_an_outer_document_type_is_well_and_its_file_is_not_fetched() -> None:
    assert passes("is-xml", '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a>&x;</a>')


def test_a_mark_that_does_not_end_is_no_tree() -> None:
    assert tree("<a><!-- x</a>") is None
    assert tree("<a") is None


def test_paths_walk_names_and_numbers_only() -> None:
    found = tree("<a c='1'><b>1</b><b/><?p q='r'?></a></a><d><e>")
    assert found is not None
    for path in ("a.b.0", "a.b.1", "a.@_c", "a.?p.@_q", "d.e"):
        assert has_path(found, path), path
    for path in ("a.b.2", "a.b.x", "a.b.-1", "a.b.0.x", "", "a.", "toString"):
        assert not has_path(found, path), path


def test_candidates_are_runs_of_siblings_and_closed_elements() -> None:
    assert candidates("<a/> x <b/>") == [ElementSpan(0, 11), ElementSpan(0, 4), ElementSpan(7, 11)]
    assert candidates("<x><a/> <!y [>] '>'> <c></d> <b></b>") == [ElementSpan(3, 7), ElementSpan(29, 36)]
    assert candidates("<!-- <a/> --> <![CDATA[<a/>]]> <?<a/>?> <!open") == []


@pytest.mark.parametrize(
    ("output", "whole", "inside"),
    [
        ("<p>hi</p>", True, True),
        ("<p>a<div>b</div>c", False, True),
        ("<body>hi", True, True),
        ("hello <body>", False, True),
        ("<p>hi</p> there", False, True),
        ("<html>x</html>", False, True),
        ("<html><p>x</html>", True, True),
        ("<my-card>x</my-card>", True, True),
        ("<foo>x</foo>", False, True),
        ("<foo>", False, False),
        ("&amp; &#60;", False, False),
        ("&copy; <!-- c -->", False, True),
        ("a < b > c", False, False),
        ("<?xml version='1.0'?><p/>", False, True),
        ("<frameset></frameset>", False, True),
        ("", False, False),
        ("5", False, False),
    ],
)
def test_html_is_whole_or_inside(output: str, whole: bool, inside: bool) -> None:
    assert passes("is-html", output) is whole
    assert passes("contains-html", output) is inside


@pytest.mark.parametrize("kind", KINDS)
def test_more_than_a_million_characters_are_not_checked(kind: str) -> None:
    assert isinstance(check(Assertion(type=kind), Subject("<p>" * 333_334)), Unchecked)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("piece", ["<a ", '<a "', "<!--", "<a>", "<", "&a", "</a>", "<a b='", "<![CDATA["])
def test_a_long_unfinished_text_takes_no_long_time(kind: str, piece: str) -> None:
    assert isinstance(check(Assertion(type=kind), Subject(piece * 5_000)), Checked)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("is-xml", ""),
        ("is-xml", "a,"),
        ("contains-xml", [""]),
        ("contains-xml", 5),
        ("is-xml", {"elements": ["a"]}),
        ("is-xml", {"requiredElements": "a"}),
        ("is-html", "<p>"),
        ("contains-html", 5),
    ],
)
def test_a_value_that_could_not_be_meant_is_refused(kind: str, value: JsonValue) -> None:
    with pytest.raises(InvalidRecordError):
        vet(Assertion(type=kind, value=value))


@pytest.mark.parametrize("value", [None, [], {}, [1, "a"]])
def test_no_elements_or_numbers_are_well(value: JsonValue) -> None:
    vet(Assertion(type="is-xml", value=value))


@given(st.sampled_from(KINDS), TEXTS)
def test_nothing_raises_and_not_inverts(kind: str, text: str) -> None:
    passes(kind, text)


def test_the_parsers_are_imported_at_first_use() -> None:
    code = "import sys, minions_evals_mcp.scoring.assertions; assert not {'justhtml', 'sqlglot'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)
