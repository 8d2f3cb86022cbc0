"""Taking texts apart: numbers, dates, times, names, links, codes, quotations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.scoring.failures.dates import Day, take_clocks, take_dates
from minions_evals_mcp.scoring.failures.ledger import ledger
from minions_evals_mcp.scoring.failures.material import material, read
from minions_evals_mcp.scoring.failures.mentions import bare_link, is_identifier, names
from minions_evals_mcp.scoring.failures.quantities import Quantity, quantities
from minions_evals_mcp.scoring.failures.texts import cut, flat, leaves, parsed, prose, unfenced


def only(text: str) -> Quantity:
    """The one number of a text."""
    (quantity,) = quantities(text)
    return quantity


def gives(text: str, number: str) -> bool:
    """Whether the numbers of the text give that one."""
    return ledger(quantities(text)).gives(only(number))


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("$49", 49, "money"),
        ("USD 49", 49, "money"),
        ("(€1.250,50)", 1250.5, "money"),
        ("2.4 million euros", 2.4e6, "money"),
        ("$1.25M", 1.25e6, "money"),
        ("1,250,000", 1_250_000, "plain"),
        ("1'250'000", 1_250_000, "plain"),
        ("12,5 %", 12.5, "percent"),
        ("35 percent", 35, "percent"),
        ("1234.567", 1234.567, "plain"),
        ("3.142", 3.142, "plain"),
        ("1.5e3", 1500, "plain"),
        ("fourteen", 14, "plain"),
        ("twenty-five", 25, "plain"),
        ("a 14-day trial", 14, "time"),
    ],
)
def test_a_number_is_read_whatever_its_spelling(text: str, value: float, kind: str) -> None:
    assert only(text).values[0] == pytest.approx(value)
    assert only(text).kind == kind


def test_a_comma_before_three_digits_may_mark_thousands_or_decimals() -> None:
    assert set(only("1,250").values) == {1250, 1.25}
    assert set(only("1.250").values) == {1250, 1.25}
    assert only("1.2.3").values == (1, 2, 3)


@pytest.mark.parametrize("text", ["1. First", "2) Second", "- 3. Third", "see (4)", "Step 5: stir", "Option 2 is best"])
def test_a_number_that_only_counts_a_list_is_no_number(text: str) -> None:
    assert list(quantities(text)) == []


def test_a_number_too_long_to_mean_anything_is_left_out() -> None:
    assert list(quantities("1" * 41)) == []


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ("1,250,000 dollars", "$1.25M"),
        ("14 days", "two weeks"),
        ("12 months", "one year"),
        ("a share of 0.35", "35%"),
        ("64 percent", "64"),
        ("3.14159", "3.14"),
        ("1,187 guests", "about 1,200"),
        ("120 on Friday, 185 on Saturday", "305"),
        ("a fee of 240 euros, less 60 euros", "180 euros"),
        ("3 lamps at $19.90", "$59.70"),
        ("20% off 150 euros", "120 euros"),
        ("$10, $20 and $45", "$75"),
        ("$10 and $25", "35"),
    ],
)
def test_a_number_that_the_material_gives_in_other_words_is_given(context: str, said: str) -> None:
    assert gives(context, said)


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ("14 days", "30 days"),
        ("24 months", "24 years"),
        ("$29", "29%"),
        ("3.14159", "3.15"),
        ("1,187 guests", "1,200"),
        ("1,187 guests", "about 2,000"),
        ("5 days, $70", "$75"),
        ("", "17"),
    ],
)
def test_a_number_that_the_material_does_not_give_is_not_given(context: str, said: str) -> None:
    assert not gives(context, said)


def test_the_time_between_two_clock_times_is_given() -> None:
    assert ledger((), (580, 595)).gives(only("15 minutes"))


def test_many_numbers_are_not_combined_and_far_too_many_decide_nothing() -> None:
    many = " ".join(str(1000 + 7 * place) for place in range(30))
    assert not gives(many, "2007")
    assert gives("1 " * 50_001, "77")


def test_a_noun_that_is_counted_differently_is_noticed() -> None:
    flat_of_three = ledger(quantities("3 bedrooms and 2 balconies"))
    assert flat_of_three.counts_otherwise(only("four bedrooms"))
    assert not flat_of_three.counts_otherwise(only("3 bedrooms"))
    assert not flat_of_three.counts_otherwise(only("one bedroom"))
    assert not flat_of_three.counts_otherwise(only("4 garages"))


@pytest.mark.parametrize(
    "text",
    [
        "2024-03-05",
        "5 March 2024",
        "5th of March, 2024",
        "March 5, 2024",
        "Mar 5th 2024",
        "2024/3/5",
        "05.03.2024",
        "5/3/24",
    ],
)
def test_a_date_is_read_whatever_its_spelling(text: str) -> None:
    (mention,), rest = take_dates(f"due {text} at noon")
    assert Day(2024, 3, 5) in mention.days
    assert rest == "due   at noon"


def test_a_month_of_a_year_is_a_date_without_a_day() -> None:
    (mention,), _ = take_dates("in March 2024")
    assert mention.days == (Day(2024, 3, None),)
    assert Day(2024, 3, 5).covers(mention.days[0])
    assert not mention.days[0].covers(Day(2024, 3, 5))
    assert Day(None, 3, 5).covers(Day(2024, 3, 5))


def test_a_day_that_no_month_has_is_no_date() -> None:
    assert take_dates("2024-13-05")[0] == []
    assert Day(2023, 2, 30).date() is None


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("9:40", (580, 1300)), ("09:40", (580, 1300)), ("6 pm", (1080,)), ("12:15 a.m.", (15,)), ("18:05", (1085,))],
)
def test_a_time_of_day_is_read_in_minutes(text: str, minutes: tuple[int, ...]) -> None:
    assert take_clocks(text)[0][0].minutes == minutes


def test_a_day_is_known_or_counted_to() -> None:
    lease = material([{"context": "Signed on 1 March 2024, payable within 30 days, at 9:15."}])
    assert all(lease.has_day(one) for one in read("March 1, 2024 and 31 March 2024").days)
    assert not any(lease.has_day(one) for one in read("2 March 2024, 5 May").days)
    assert lease.has_time(read("9:15 am").clocks[0])
    assert not lease.has_time(read("10 am").clocks[0])


def test_links_and_codes_are_known_in_any_case_and_without_their_scheme() -> None:
    known = material(["Order AB-10442: see https://www.Shop.example/help, or mail us at help@shop.example."])
    assert known.has_link("http://shop.example/help")
    assert known.has_link("shop.example")
    assert known.has_link("HELP@shop.example.")
    assert not known.has_link("https://shop.example/refunds")
    assert known.has_identifier("ab-10442")
    assert not known.has_identifier("AB-10443")
    assert bare_link("https://www.a.example/x/.") == "a.example/x"


@pytest.mark.parametrize("token", ["AB-10442", "SKU8841", "7F3A-22", "a1b2"])
def test_letters_with_digits_are_a_code(token: str) -> None:
    assert is_identifier(token)


@pytest.mark.parametrize("token", ["14-day", "200mg", "Q3", "2019-2021", "state-of-the-art", "a1" * 40])
def test_measures_years_and_words_are_no_code(token: str) -> None:
    assert not is_identifier(token)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The letter was signed by Robert Keller.", [("Robert", "Keller")]),
        ("Ask Dr. Hansen in Oslo. Then wait.", [("Hansen",), ("Oslo",)]),
        ("Paid by A. Ruiz, Berlin", [("Ruiz",), ("Berlin",)]),
        ("# Key Points\nAll is well\n\n**Next Steps:** call", []),
        ("Use the API on Monday", []),
        ("Yes. However, it rains.", []),
        ("Die Schule und der Garten sind im Dorf", []),
        ("it ended in Rome", [("Rome",)]),
        ("from Rome to us", [("Rome",)]),
    ],
)
def test_names_are_capitalised_runs_within_sentences(text: str, found: list[tuple[str, ...]]) -> None:
    assert list(names(text)) == found


def test_json_is_read_by_its_scalars_and_other_text_without_its_code() -> None:
    assert prose('```json\n{"a": ["x", 1], "b": null}\n```') == "x\n1"
    assert prose("Before.\n```python\nx = 1\n```\nAfter.") == "Before.\n\n\nAfter."
    assert list(leaves({"a": [1, {"b": "c"}]})) == [("a", 1), ("b", "c")]
    assert flat({"a": [1, None], "b": "c"}) == "a: 1\nb: c"


@pytest.mark.parametrize("text", ["{}", "```{}```", "```json\n{}\n```", " {} "])
def test_one_code_fence_is_stripped(text: str) -> None:
    assert unfenced(text) == "{}"


@pytest.mark.parametrize("text", ["NaN", "[" * 100_000, "{'a': 1}", ""])
def test_what_is_not_json_is_refused_as_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parsed(text)


@given(st.text())
def test_a_quotation_is_one_line_of_at_most_its_limit(text: str) -> None:
    assert len(cut(text, 20)) <= 20
    assert "\n" not in cut(text, 20)


@given(st.floats(min_value=0.01, max_value=1e9))
def test_a_number_always_gives_itself(value: float) -> None:
    written = f"{value:.2f}"
    assert gives(f"It is {written} in all", written)


@pytest.mark.parametrize(
    "text", ["3. Mai 2026", "3 mai 2026", "3 de mayo de 2026", "3 maggio 2026", "3 de maio de 2026"]
)
def test_a_day_is_read_in_five_more_languages(text: str) -> None:
    (mention,), rest = take_dates(f"am {text} um")
    assert (mention.days, rest.split()) == ((Day(2026, 5, 3),), ["am", "um"])


@pytest.mark.parametrize("text", ["14h05", "14 h 05", "14.05 Uhr", "14 Uhr 05", "14:05", "2:05 pm"])
def test_a_time_of_day_is_read_as_it_is_said(text: str) -> None:
    (mention,), _ = take_clocks(f"at {text} there")
    assert mention.minutes == (14 * 60 + 5,)
