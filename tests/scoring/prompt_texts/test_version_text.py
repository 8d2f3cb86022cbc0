"""Prompt templates: what is filled in, what is left alone, and what is refused with its line."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.scoring.prompt_texts.version_text import render

NAMES = st.from_regex(r"\A[a-z][a-z0-9_]{0,8}\Z").filter(lambda name: name != "this")


def refusal(template: str, **variables: JsonValue) -> str:
    with pytest.raises(BadInputError) as refused:
        render(template, variables)
    return str(refused.value)


@pytest.mark.parametrize(
    ("template", "rendered"),
    [
        ("Hello {{name}}!", "Hello Ada!"),
        ("{{name}}{{ name }}{{\nname\t}}", "AdaAdaAda"),
        ("{{name}}\n{{age}}", "Ada\n36"),
        ("{{whole}} {{part}} {{yes}} {{none}}", '{"b":[1,2]} 0.5 true null'),
        ("", ""),
        ("no variables", "no variables"),
        ("a } b }} c { d", "a } b }} c { d"),
        ("{{odd-name.x}}", "odd"),
    ],
)
def test_variables_are_filled_in_strings_as_they_are_other_json_as_json(template: str, rendered: str) -> None:
    variables: dict[str, JsonValue] = {
        "name": "Ada", "age": 36, "whole": {"b": [1, 2]}, "part": 0.5, "yes": True, "none": None, "odd-name.x": "odd",
    }  # fmt: skip
    assert render(template, variables) == rendered


@pytest.mark.parametrize(
    ("template", "rendered"),
    [
        (r"\{{name}}", "{{name}}"),
        (r"\{{name}} {{name}}", "{{name}} Ada"),
        (r"{{name}}\{{", "Ada{{"),
        (r"\{{\{{name}}", "{{{{name}}"),
        (r"\{{ never closed", "{{ never closed"),
        (r"\ {{name}}", "\\ Ada"),
        (r"{{#if name}}\{{/if}}{{/if}}", "{{/if}}"),
    ],
)
def test_a_backslash_makes_two_braces_literal(template: str, rendered: str) -> None:
    assert render(template, {"name": "Ada"}) == rendered


@pytest.mark.parametrize(
    ("value", "rendered"),
    [
        (True, "yes"),
        ("x", "yes"),
        (1, "yes"),
        ([0], "yes"),
        (False, ""),
        ("", ""),
        (0, ""),
        ([], ""),
        ({}, ""),
        (None, ""),
    ],
)
def test_an_if_shows_its_body_where_the_value_says_something(value: JsonValue, rendered: str) -> None:
    assert render("{{#if it}}yes{{/if}}", {"it": value}) == rendered


def test_an_if_about_what_is_not_given_shows_nothing_and_asks_for_nothing_inside() -> None:
    assert render("a{{#if missing}}{{also_missing}}{{/if}}b", {}) == "ab"


def test_an_each_repeats_its_body_with_this() -> None:
    assert render("{{#each xs}}<{{this}}>{{/each}}", {"xs": ["a", 2, None, {"k": "v"}]}) == '<a><2><null><{"k":"v"}>'
    assert render("{{#each xs}}{{this}}{{/each}}", {"xs": []}) == ""
    assert render("{{#each xs}}{{this}}-{{name}} {{/each}}", {"xs": [1, 2], "name": "n"}) == "1-n 2-n "


def test_this_is_the_elements_inside_and_the_callers_outside() -> None:
    assert render("{{this}}{{#each xs}}{{this}}{{/each}}{{this}}", {"this": "T", "xs": ["a"]}) == "TaT"


def test_blocks_nest() -> None:
    template = "{{#each xs}}{{#if on}}[{{this}}{{#each ys}}{{this}}{{/each}}]{{/if}}{{/each}}"
    assert render(template, {"xs": ["a", "b"], "ys": [1, 2], "on": True}) == "[a12][b12]"
    assert render(template, {"xs": ["a", "b"], "ys": [1, 2], "on": False}) == ""
    assert render("{{#if a}}{{#if b}}x{{/if}}y{{/if}}z", {"a": 1}) == "yz"
    assert render("{{#each rows}}{{#each this}}{{this}}{{/each}};{{/each}}", {"rows": [[1, 2], [3]]}) == "12;3;"


def test_values_are_data_and_are_never_rendered_again() -> None:
    evil = "{{secret}} {{#each xs}} {{/if}} \\{{"
    variables: dict[str, JsonValue] = {"name": evil, "secret": "S", "xs": [evil]}
    assert render("{{name}}", variables) == evil
    assert render("{{#if name}}{{name}}{{/if}}", variables) == evil
    assert render("{{#each xs}}{{this}}{{/each}}", variables) == evil
    assert render("{{name}}{{secret}}", variables) == evil + "S"


@given(st.text())
def test_text_without_two_braces_is_unchanged(text: str) -> None:
    assume("{{" not in text)
    assert render(text, {}) == text
    assert render(text, {"name": "x"}) == text


@given(st.text())
def test_any_text_comes_through_a_value_as_it_is(text: str) -> None:
    assert render("<{{value}}>", {"value": text}) == f"<{text}>"
    assert render("{{#each value}}{{this}}{{/each}}", {"value": [text, text]}) == text * 2


@given(st.text())
def test_any_template_renders_or_is_refused_in_words(text: str) -> None:
    for template in (text, "{{" + text, text + "}}", "{{#if a}}" + text, "{{#each a}}" + text + "{{/each}}"):
        try:
            assert isinstance(render(template, {"a": ["x"]}), str)
        except BadInputError as refused:
            assert "template" in refused.message


@given(NAMES, NAMES)
def test_a_missing_variable_is_an_error_that_names_it_and_what_is_given(name: str, other: str) -> None:
    assume(name != other)
    said = refusal("line one\n{{" + name + "}}", **{other: "x"})
    assert repr(name) in said
    assert "line 2" in said
    assert f"Given: {other}." in said


def test_a_missing_variable_with_none_given_says_so() -> None:
    assert "Given: none." in refusal("{{name}}")
    assert "'missing'" in refusal("{{#each missing}}x{{/each}}")
    assert "''" in refusal("{{}}")


def test_a_missing_variable_inside_a_block_is_named_with_its_own_line() -> None:
    assert "'b' (line 3)" in refusal("{{#if a}}\n\n{{b}}{{/if}}", a=1)
    assert "'b' (line 2)" in refusal("{{#each a}}\n{{b}}{{/each}}", a=[1])


@pytest.mark.parametrize("value", ["text", 5, None, {"a": 1}, True])
def test_an_each_over_what_is_no_list_is_refused(value: JsonValue) -> None:
    assert "repeats over 'xs' (line 2), which is not a list" in refusal("\n{{#each xs}}x{{/each}}", xs=value)


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("a\n{{name", "'{{' in line 2 is never closed"),
        ("\n\n{{#if a}}x", "{{#if}} in line 3 is never closed"),
        ("{{#if a}}\n{{#each b}}x{{/each}}", "{{#if}} in line 1 is never closed"),
        ("{{#if a}}\n{{#each b}}x", "{{#each}} in line 2 is never closed"),
        ("x\n{{/if}}", "{{/if}} in line 2 has no opening tag"),
        ("{{#if a}}\n{{/each}}", "{{/each}} in line 2 has no opening tag"),
        ("{{#unless a}}x{{/unless}}", "{{#unless}} in line 1 is unknown"),
        ("{{#if}}x{{/if}}", "{{#if}} in line 1 is unknown"),
        ("{{#if a}}{{#each}}{{/each}}{{/if}}", "{{#each}} in line 1 is unknown"),
    ],
)
def test_a_block_that_is_unclosed_unopened_or_unknown_is_refused_with_its_line(template: str, words: str) -> None:
    assert words in refusal(template, a=1, b=[1])


def test_the_remedies_say_what_to_write_instead() -> None:
    assert r"Write \{{ for a literal." in refusal("{{x")
    assert "Known are #if NAME and #each NAME." in refusal("{{#loop x}}{{/loop}}")
