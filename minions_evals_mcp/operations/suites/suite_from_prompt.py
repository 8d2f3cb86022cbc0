"""A suite from a prompt or documents: cases, edge cases and adversarial ones, as drafts that are marked synthetic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeAlias

from pydantic import Field, ValidationError, model_validator

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.request_fields import NAME_SAYS_IT, Dollars, More, TestCaseId, VersionRef
from minions_evals_mcp.domain.values import Id, Json, Text, Value

if TYPE_CHECKING:
    from minions_evals_mcp.engine.discovery.prompt_suite import PromptSuite as Answer
    from minions_evals_mcp.engine.discovery.prompt_suite import WrittenDraft
    from minions_evals_mcp.operations.engine import Engine

CasesShown: TypeAlias = "Answer"
DraftShown: TypeAlias = "WrittenDraft"


class Document(Value):
    """A text that the agent answers from."""

    name: Annotated[Text, Field(max_length=200)]
    text: Annotated[str, Field(min_length=1, max_length=200_000)]


class CaseNote(Value):
    """A case that you wrote. `inputs`: what the user sends, under `input` or the prompt's variables. Give expected or assertions.

    `quote`: words of the source, verbatim, from which `expected` follows.
    """

    kind: Literal["case", "edge", "adversarial"] = "case"
    inputs: Annotated[Json, Field(min_length=1)]
    expected: Annotated[str, Field(min_length=1, max_length=40_000)] | None = None
    quote: Annotated[str, Field(max_length=4_000)] = ""
    assertions: Annotated[tuple[Json, ...], Field(strict=False, max_length=20)] = ()
    why: Annotated[str, Field(max_length=2_000)] = ""
    passage_id: Annotated[Id | None, Field(description="The passage it comes from")] = None

    @model_validator(mode="after")
    def _assertions_are_some(self) -> Self:
        for place, written in enumerate(self.assertions):
            try:
                Assertion.model_validate(written)
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                at = ".".join(map(str, first["loc"]))
                raise ValueError(f"assertions.{place}.{at}: {first['msg']}") from None
        return self

    @property
    def checks(self) -> tuple[Assertion, ...]:
        """The assertions."""
        return tuple(map(Assertion.model_validate, self.assertions))


class Request(Value):
    """Draft test cases from a prompt or documents: ordinary, edge and adversarial ones, without repeats, audited."""

    prompt_version_ref: Annotated[
        VersionRef | None,
        Field(description="A stored prompt"),
        NAME_SAYS_IT,
        More("The stored prompt version to write cases for."),
    ] = None
    prompt: Annotated[
        Annotated[str, Field(min_length=1, max_length=200_000)] | None,
        Field(description="The prompt's text"),
    ] = None
    documents: Annotated[
        tuple[Document, ...],
        Field(strict=False, max_length=50, description="{name, text}"),
    ] = ()
    writer: Annotated[
        Literal["caller", "model"],
        Field(description="caller: you write cases for the returned texts"),
        More("Who writes the cases: the caller (you send them), or the judge model."),
    ] = "caller"
    count: Annotated[
        int,
        Field(ge=1, le=200, description="Cases wanted"),
        More("Number of cases: half ordinary, a quarter edge cases, a quarter adversarial."),
    ] = 12
    cases: Annotated[
        tuple[CaseNote, ...],
        Field(
            strict=False, max_length=200,
            description="{kind, inputs, expected, quote, assertions, passageId}",
        ),
    ] = ()  # fmt: skip
    accept: Annotated[
        tuple[TestCaseId, ...],
        Field(strict=False, max_length=100, description="Drafts to make active"),
        More("Make this draft active (repeatable). Writes no cases."),
    ] = ()
    max_cost_usd: Annotated[
        Dollars | None,
        Field(description="Maximum cost in US dollars"),
        NAME_SAYS_IT,
        More("With the model as the writer: stop before spending more than this."),
    ] = None

    @model_validator(mode="after")
    def _who_writes(self) -> Self:
        if self.cases and self.writer != "caller":
            raise ValueError("cases: only the caller sends cases; set writer to caller")
        if self.max_cost_usd is not None and self.writer != "model":
            raise ValueError("maxCostUsd: applies only with a model; set writer to model")
        if self.prompt is not None and self.prompt_version_ref is not None:
            raise ValueError("prompt: cannot be combined with promptVersionRef, which already names a prompt")
        names = [document.name for document in self.documents]
        if len(set(names)) < len(names):
            raise ValueError("documents: two have the same name")
        return self


async def run(engine: Engine, request: Request) -> Answer:
    """The texts for their writer, or the drafts; done twice, they are the same. With `accept` the drafts that are active now."""
    from minions_evals_mcp.engine.discovery import model_writing, prompt_suite  # noqa: PLC0415  the engine, at the first call
    from minions_evals_mcp.engine.discovery.drafts import accept_drafts  # noqa: PLC0415  as above
    from minions_evals_mcp.scoring.discovery.written_cases import WrittenCase  # noqa: PLC0415  as above

    if request.accept:
        accepted = await accept_drafts(engine, request.accept, tag=prompt_suite.TAG, made_of="a prompt or a document")
        return prompt_suite.PromptSuite(passages=0, accepted=accepted)
    documents = {document.name: document.text for document in request.documents}
    sources = await prompt_suite.sources_of(
        engine, version_ref=request.prompt_version_ref, prompt=request.prompt, documents=documents
    )
    if request.writer == "model":
        told = await model_writing.written_by_model(
            engine, sources, count=request.count, max_cost_usd=request.max_cost_usd
        )
        suite = await prompt_suite.suite_from_prompt(
            engine, sources, told.cases, writer=told.writer, checks=model_writing.CHECKS
        )
        return suite.model_copy(update={"unwritten": told.unwritten, "stopped": told.stopped})
    if not request.cases:
        return prompt_suite.passage_packets(sources, count=request.count)
    written = [
        WrittenCase(note.kind, note.inputs, note.expected, note.quote, note.checks, note.why, note.passage_id or "")
        for note in request.cases
    ]
    return await prompt_suite.suite_from_prompt(engine, sources, written, writer="caller")
