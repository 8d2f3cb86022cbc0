"""Personal data is told from other numbers by its check digits, and masked."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from minions_evals_mcp.scoring.discovery.personal_data import masked_text, masked_value

PERSONAL = {
    "ada.lovelace@example.org": "email", "DE89 3704 0044 0532 0130 00": "iban", "GB82WEST12345698765432": "iban",
    "4111 1111 1111 1111": "card", "5555-5555-5555-4444": "card", "+49 30 1234567": "phone", "(030) 123 45 67": "phone",
    "078-05-1120": "ssn", "192.168.0.17": "ip",
}  # fmt: skip
OTHER = (
    "order 100962", "4111 1111 1111 1112", "2026-11-27", "12.50", "v1.2.3", "DE89370400440532013001", "1,234,567", "10:30",
    "999-05-1120", "Q-77441-A", "300.1.2.3", "17 of 20",
)  # fmt: skip


@pytest.mark.parametrize("text", PERSONAL)
def test_personal_data_is_masked_within_a_sentence(text: str) -> None:
    masked = masked_text(f"Write to {text}, please.")
    assert (masked.text, masked.found) == (f"Write to [{PERSONAL[text]}], please.", (PERSONAL[text],))


@pytest.mark.parametrize("text", OTHER)
def test_other_numbers_stay(text: str) -> None:
    masked = masked_text(f"It is {text}.")
    assert (masked.text, masked.found) == (f"It is {text}.", ())


def test_values_are_masked_at_any_depth() -> None:
    found: list[str] = []
    value: JsonValue = {"to": ["ada@example.org", {"card": 4111111111111111, "n": 5, "yes": True}]}
    assert masked_value(value, found) == {"to": ["[email]", {"card": "[card]", "n": 5, "yes": True}]}
    assert found == ["email", "card"]
