"""The tests of a config that are evaluated this time: the first ones, those with a fitting description, those that failed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from minions_evals_mcp import bounded_files
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.interop.promptfoo_config.cases import ConfigTest
from minions_evals_mcp.interop.promptfoo_config.tests import Test
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.scoring.reserved_inputs import HIDDEN


@frozen_type
class Narrowed:
    """Which tests are evaluated. `failing` are the variables of the tests that failed; None: whether a test failed does not matter."""

    pattern: str | None = None
    first: int | None = None
    failing: tuple[Json, ...] | None = None


WHOLE = Narrowed()


def narrowed_tests(tests: Sequence[Test], by: Narrowed) -> list[Test]:
    """The first tests whose description has the pattern; raises `BadInputError` where none is left."""
    chosen = [*tests]
    if by.pattern is not None:
        try:
            pattern = re.compile(by.pattern)
        except re.error as error:
            raise BadInputError(
                f"{argument('filter_pattern', by.pattern)} is no regular expression: {error}.",
                remedy="Escape what is meant as it is written, such as \\( for a bracket.",
            ) from None
        chosen = [test for test in chosen if pattern.search(test.description)]
        if not chosen:
            raise BadInputError(
                f"no test has a description that matches {by.pattern!r}.",
                remedy=f"Give another {argument('filter_pattern')}: it is searched for in the `description` of each test.",
            )
    return chosen if by.first is None else chosen[: by.first]


def narrowed_cases(cases: Iterable[ConfigTest], by: Narrowed) -> list[ConfigTest]:
    """The tests, their variables spread, that failed before; raises `BadInputError` where none did."""
    if by.failing is None:
        return list(cases)
    failed = {digest(variables) for variables in by.failing}
    chosen = [case for case in cases if digest(_variables(case.fields.inputs)) in failed]
    if not chosen:
        raise BadInputError(
            "no test of the config failed there.",
            remedy=f"Leave {argument('filter_failing')} out, or name another evaluation.",
        )
    return chosen


def _variables(inputs: Json) -> Json:
    return {name: value for name, value in inputs.items() if name not in HIDDEN}


def failing_in(path: Path) -> tuple[Json, ...]:
    """The variables of the tests that failed in a results file: promptfoo's, or the one that -o writes."""
    try:
        document: Any = json.loads(bounded_files.read_text(path))
        rows = cast("list[Json]", document["results"]["results"])
        failed = [row for row in rows if not row["success"]]
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror}.", remedy="Check the path.") from None
    except (ValueError, KeyError, TypeError):
        raise BadInputError(
            f"{path} is no results file.",
            remedy="Give the .json file of an evaluation, or the id of a stored one (eval/…).",
        ) from None
    return tuple(cast("Json", row["testCase"])["vars"] if "testCase" in row else row["vars"] for row in failed)  # pyright: ignore[reportReturnType]  a JSON file's
