"""What is done with the secrets that the process knows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp import known_secrets
from minions_evals_mcp.domain.outcomes import JudgeErrored, Skipped, TargetErrored
from minions_evals_mcp.errors import InstrumentError, NotFoundError
from minions_evals_mcp.known_secrets import counted, masked, masked_json, remember, remember_keys, remember_named
from minions_evals_mcp.report.plain import printable
from minions_evals_mcp.server.edge.logs import as_line
from minions_evals_mcp.settings import named_variables, read_settings

SECRET = 'sk-live/9f3a+"quoted\\0451&more'
MARK = "[secret 24c4b1b4]"


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    known_secrets.forget()
    yield
    known_secrets.forget()


@pytest.mark.parametrize(
    "written",
    [SECRET, json.dumps(SECRET)[1:-1], quote(SECRET, safe=""), SECRET.replace("&", "&amp;").replace('"', "&quot;")],
)
def test_a_secret_is_replaced_however_it_is_written_down(written: str) -> None:
    remember([SECRET])
    said = masked(f"wrong key {written}, wrong")
    assert said.startswith("wrong key [secret ")
    assert said.endswith("], wrong")
    assert len(said) == len("wrong key [secret 12345678], wrong")


def test_equal_secrets_have_equal_marks_and_others_have_others() -> None:
    remember(["first-secret-0001", "first-secret-0001-and-more"])
    marks = [masked(one) for one in ("first-secret-0001", "first-secret-0001-and-more", "first-secret-0001")]
    assert marks[0] == marks[2] != marks[1]
    assert masked(masked("x first-secret-0001")) == f"x {marks[0]}"
    assert counted("first-secret-0001 first-secret-0001") == {marks[0][8:-1]: 2}


def test_names_and_values_of_json_are_replaced_and_all_else_stays() -> None:
    remember(["first-secret-0001"])
    found = masked_json({"first-secret-0001": ["x first-secret-0001", 1, None, True]})
    mark = masked("first-secret-0001")
    assert found == {mark: [f"x {mark}", 1, None, True]}


def test_a_header_that_names_its_scheme_is_known_without_it_too() -> None:
    remember(["Bearer first-secret-0001"])
    assert "first-secret-0001" not in masked("got first-secret-0001")
    assert masked("Bearer of news") == "Bearer of news"


def test_what_may_be_a_plain_word_is_no_secret() -> None:
    remember_named({"API_KEY": "short", "LONG_NAME": "a-value-that-is-long-enough", "MY_TOKEN": "fifteen-charact"})
    remember_keys(["lm-studio", "not-needed", None, "none", "key1"])
    for text in ("short", "a-value-that-is-long-enough", "fifteen-charact", "lm-studio", "not-needed", "key1"):
        assert masked(text) == text
    remember_keys(["sk-local-1"])
    assert masked("sk-local-1") != "sk-local-1"


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "GITHUB_TOKEN", "clientSecret", "db_password", "APIKEYS"])
def test_a_variable_whose_name_says_so_holds_a_secret(name: str) -> None:
    remember_named({name: "sixteen-letters!"})
    assert "sixteen" not in masked("sixteen-letters!")


@pytest.mark.parametrize(
    "value",
    [
        "sk_live_51Habcdefghij", "sk-proj-abcdefghijklmnopq", "ghp_abcdefghijklmnopqrst", "AKIAIOSFODNN7EXAMPLE", "xoxb-1234567890-abc",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    ],
)  # fmt: skip
def test_a_value_that_is_a_key_by_its_look_is_a_secret_whatever_the_variable_is_called(value: str) -> None:
    remember_named({"PAYMENTS": value})
    assert value not in masked(f"used {value}")


def test_the_password_of_an_address_is_a_secret_and_the_rest_of_it_is_not() -> None:
    remember_named(
        {"DATABASE_URL": "postgres://app:pw12345678@db.example/prod", "HOME_PAGE": "https://example.org/a:b@c"}
    )
    assert masked("postgres://app:pw12345678@db.example/prod").startswith("postgres://app:[secret ")
    assert masked("https://example.org/a:b@c") == "https://example.org/a:b@c"


def test_settings_and_dot_env_and_named_variables_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text(
        "# comment\nexport MAIL_PASSWORD='written down 0001'\nOTHER_TOKEN=written-down-0002 # why\nPLAIN=written-down-0003\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    environment = {
        "ANTHROPIC_API_KEY": "anthropic-key-0001", "MINIONS_EVALS_HTTP_TOKEN": "http-token-000001", "HOME": "/home/somebody-else",
        "SOME_SECRET": "some-secret-value-1",
    }  # fmt: skip
    read_settings(environment)
    named_variables(["VAULT_TOKEN"], {"VAULT_TOKEN": "vault-token-00001"})
    secrets = [
        "anthropic-key-0001", "http-token-000001", "some-secret-value-1", "vault-token-00001", "written down 0001",
        "written-down-0002",
    ]  # fmt: skip
    said = masked(" ".join((*secrets, "/home/somebody-else", "written-down-0003")))
    assert not any(one in said for one in secrets)
    assert said.endswith("/home/somebody-else written-down-0003")


def test_no_error_outcome_log_line_or_terminal_line_tells_one() -> None:
    remember(["first-secret-0001"])
    text = "the key first-secret-0001 is wrong"
    errors = [InstrumentError(text, remedy=text), NotFoundError("record", text, near=[text])]
    outcomes = [TargetErrored(text, fatal=True), JudgeErrored(text), Skipped(text)]
    said = [*map(str, errors), *map(repr, errors), *map(repr, outcomes), printable(text), printable(text, 24)]
    said.append(as_line({"event": text}))
    assert not any("first-secret" in one for one in said)
    assert str(errors[0]).startswith("the key [secret ")


@given(st.text(), st.text(min_size=16), st.text())
def test_whatever_stands_around_it_no_secret_is_left(before: str, secret: str, after: str) -> None:
    known_secrets.forget()
    remember([secret])
    kept = secret.strip()
    if len(kept) >= 16:
        assert kept not in masked(f"{before}{kept}{after}").replace(masked(kept), "")
    known_secrets.forget()
