"""promptfoo's own settings in the environment: what bears on an output or a verdict is carried out, or named."""

from __future__ import annotations

import json
import re

import pytest

from minions_evals_mcp.interop.promptfoo_config.own_settings import CARRIED_OUT, HARMLESS, NOT_CARRIED_OUT
from tests.cli.run.test_eval_gates import config
from tests.shared.cli.terminal import Ended, Terminal

EVAL = ("eval", "c.yaml", "--yes")


def with_settings(at: Terminal, **settings: object) -> Terminal:
    return at.with_env(**{f"PROMPTFOO_{name}": str(value) for name, value in settings.items()})


@pytest.mark.parametrize(
    ("threshold", "exit_code", "code"),
    [
        ("85", None, 0), ("85.01", None, 1), ("100", None, 1), ("0", None, 0), ("0.5", None, 0),
        ("90", 7, 7), ("90", 0, 0), ("85", 7, 0),
    ],
)  # fmt: skip
def test_the_pass_rate_is_a_point_estimate_over_all_outputs(
    at: Terminal, threshold: str, exit_code: int | None, code: int
) -> None:
    config(at, ">= 3", tests=20)  # 17 of 20, which says nothing against 90 % beyond chance
    more = {} if exit_code is None else {"FAILED_TEST_EXIT_CODE": exit_code}
    ended = with_settings(at, PASS_RATE_THRESHOLD=threshold, **more).run(*EVAL)
    assert ended.code == code, ended.err
    fell = float(threshold) > 85
    words = f"17 of 20 outputs pass (85.00 %), below PROMPTFOO_PASS_RATE_THRESHOLD ({float(threshold):g} %)"
    assert (words in ended.err) == fell


def test_the_configs_own_environment_comes_before_the_machines(at: Terminal) -> None:
    config(at, ">= 3", tests=20)
    at.file("c.yaml", (at.folder / "c.yaml").read_text("utf-8") + "env: {PROMPTFOO_PASS_RATE_THRESHOLD: 90}\n")
    assert with_settings(at, PASS_RATE_THRESHOLD=10).run(*EVAL).code == 1


def notes(ended: Ended) -> list[str]:
    assert ended.code == 0, ended.err
    return re.findall(r"note: environment: (.*)", ended.out)


@pytest.mark.parametrize("name", sorted(NOT_CARRIED_OUT))
def test_a_setting_that_would_change_something_is_named_unless_it_is_off(at: Terminal, name: str) -> None:
    config(at, ">= 0", tests=1)
    on, off = (notes(with_settings(at, **{name: value}).run(*EVAL)) for value in ("true", "false"))
    assert len(on) == 1
    assert on[0].startswith(f"PROMPTFOO_{name} is not supported: ")
    assert off == []


def test_what_changes_nothing_is_silent_and_what_nobody_knows_is_named(at: Terminal) -> None:
    config(at, ">= 0", tests=1)
    silent = dict.fromkeys(["DISABLE_TELEMETRY", "CONFIG_DIR", "OTEL_ENDPOINT", "MAX_CONCURRENCY"], "1")
    assert notes(with_settings(at, **silent).run(*EVAL)) == []
    assert notes(with_settings(at, PASS_RATE_TRESHOLD="1").run(*EVAL)) == [
        "PROMPTFOO_PASS_RATE_TRESHOLD is no setting that is known here"
    ]
    assert (
        "counts where PROMPTFOO_PASS_RATE_THRESHOLD is set"
        in notes(with_settings(at, FAILED_TEST_EXIT_CODE="1").run(*EVAL))[0]
    )


@pytest.mark.parametrize("name", ["PASS_RATE_THRESHOLD", "FAILED_TEST_EXIT_CODE", "DELAY_MS", "EVAL_TIMEOUT_MS"])
@pytest.mark.parametrize("value", ["most", "nan"])
def test_a_number_that_is_none_is_refused_by_name(at: Terminal, name: str, value: str) -> None:
    config(at, ">= 0", tests=1)
    ended = with_settings(at, **{name: value}).run(*EVAL)
    assert ended.code == 2
    assert f"PROMPTFOO_{name} is '{value}'" in ended.err


def test_the_cache_can_be_switched_off(at: Terminal) -> None:
    config(at, ">= 0", tests=3)
    for environment in (at, with_settings(at, CACHE_ENABLED="false")):
        assert environment.run(*EVAL).code == 0
    again, cached = with_settings(at, CACHE_ENABLED="false").run(*EVAL), at.run(*EVAL)
    assert "from cache" not in again.out
    assert "nothing was asked" in cached.err


@pytest.mark.parametrize(("settings", "tests"), [({}, 2), ({"DISABLE_VAR_EXPANSION": "1"}, 1)])
def test_a_list_is_one_value_where_it_is_not_to_be_spread(at: Terminal, settings: dict[str, str], tests: int) -> None:
    at.file("c.yaml", "prompts: ['{{n}}']\nproviders: [echo]\ntests: [{vars: {n: [a, b]}}]\n")
    with_settings(at, **settings).run(*EVAL, "-o", "o.json")
    assert len(json.loads((at.folder / "o.json").read_text("utf-8"))["results"]["results"]) == tests


def test_a_call_that_takes_too_long_fails_and_the_config_says_it_first(at: Terminal) -> None:
    slow = "import time\ndef call_api(p, o, c):\n    time.sleep(5)\n    return {'output': 'late'}\n"
    at.file("slow.py", slow)
    text = "prompts: [x]\nproviders: [file://slow.py]\ntests: [{assert: [{type: equals, value: late}]}]\n"
    at.file("c.yaml", text)
    assert "0 of 1 test passed" in with_settings(at, EVAL_TIMEOUT_MS="500").run(*EVAL, "--trust-code").out
    at.file("c.yaml", text + "evaluateOptions: {timeoutMs: 30000}\n")
    assert "1 of 1 test passed" in with_settings(at, EVAL_TIMEOUT_MS="500").run(*EVAL, "--trust-code").out


def test_every_setting_has_one_place() -> None:
    assert not {*CARRIED_OUT} & NOT_CARRIED_OUT.keys()
    assert not [name for name in CARRIED_OUT if name.startswith(HARMLESS)]
