"""Inputs of the testing API's mutations, and the engine's words for them."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

import strawberry
from pydantic import JsonValue
from pydantic.alias_generators import to_camel
from strawberry.scalars import JSON

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.server.graphql.derived import DerivedInput, derived_input


@strawberry.input
class TestCaseInput:
    """A test case of a prompt."""

    prompt_id: strawberry.ID
    name: str
    description: str | None = strawberry.UNSET
    input: JSON
    expected_output: str | None = strawberry.UNSET

    def value(self) -> JsonValue:
        """The inputs as they were given."""
        return cast("JsonValue", self.input)

    def expected(self) -> str | None:
        """The expected output; None where it was left out. An empty one is refused, as it is everywhere."""
        return None if self.expected_output is strawberry.UNSET else self.expected_output

    def changes(self) -> Json:
        """The fields of the engine's `update_test_case`; one that was left out stays as it is."""
        given: Json = {"promptId": self.prompt_id, "name": self.name, "input": self.value()}
        if self.description is not strawberry.UNSET:
            given["description"] = self.description or ""
        if self.expected_output is not strawberry.UNSET:
            given["expectedOutput"] = self.expected_output
        return given


@strawberry.input
class PromptVersionInput:
    """A version of a prompt; its number is the next one."""

    prompt_id: strawberry.ID
    content: str
    changelog: str | None = None
    description: str | None = None


@derived_input("runTestCase")
class RunTestCaseInput(DerivedInput):
    """A run of a test case, against the latest version of its prompt where none is named."""


@derived_input("batchRunTests")
class BatchRunTestsInput(DerivedInput):
    """Runs of several test cases of one prompt."""


@strawberry.input
class TestBranchInput:
    """A model configuration; what is not given has its default: temperature 0.7, topP 1.0, maxTokens 2048."""

    test_case_id: strawberry.ID
    name: str
    description: str | None = None
    provider: str
    model: str
    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    is_control: bool | None = None
    is_active: bool | None = None
    other_params: JSON | None = None

    def fields(self) -> Json:
        """The record's fields as given, and nothing that was left out."""
        return {to_camel(name): value for name, value in asdict(self).items() if value is not None}


@derived_input("runABTest")
class RunABTestInput(DerivedInput):
    """Branches run side by side on a test case, on several, or on a benchmark's active ones: exactly one of the three."""
