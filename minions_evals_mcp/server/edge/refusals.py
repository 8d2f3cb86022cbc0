"""Refusals in a caller's words: what is wrong, what is allowed, and the next call."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from minions_evals_mcp.errors import EvalsError, NotFoundError, StoreError
from minions_evals_mcp.report.plain import printable
from minions_evals_mcp.server.edge.argument_types import LISTED

LONGEST = 1_200
_LIST = re.compile(r"`?minions-evals list ([a-z-]+)`?")
_TOOLS = (
    (
        re.compile(r"minions-evals compare (\S+) --from (\S+) --to (\S+?) --target ([^\s;]+?)(?=[.;]|\s|$)"),
        r'compare_prompt_versions {"benchmarkId": "\1", "versionA": "\2", "versionB": "\3", "target": "\4"}',
    ),
    (
        re.compile(r"minions-evals compare (\S+) --from (\S+) --to (\S+)"),
        r'compare_prompt_versions {"benchmarkId": "\1", "versionA": "\2", "versionB": "\3"}',
    ),
    (re.compile(r"`?minions-evals audit ([^\s`]+?)`?(?=[.;]?(?:\s|$))"), r'audit_benchmark {"benchmarkId": "\1"}'),
    (re.compile(r"`?minions-evals run-benchmark ([^\s`]+)`?"), r'run_benchmark {"benchmarkId": "\1"}'),
    (
        re.compile(r"minions-evals (label \S+(?: --draw \d+)?|agreement \S+)(?= (?:draws|shows))"),
        r"at a person's terminal, minions-evals \1",
    ),
    (re.compile(r"minions-evals rejudge RUN"), 'run_benchmark {"benchmarkId": "…", "rejudgeRunId": "RUN"}'),
    (
        re.compile(r"Set (\w+_API_KEY), or name another provider's model as provider:model"),
        r"The server's operator can set \1; or name another provider and its model",
    ),
    (re.compile(r", or into a config for `minions-evals eval`"), " (run_test_case)"),
    (re.compile(r"`?minions-evals history CASE`?(?= shows)"), 'get_statistics {"testCaseId": "…", "executions": true}'),
    (re.compile(r"`?minions-evals classify RUN`?"), 'classify_failure {"id": "RUN"}'),
    (re.compile(r"`?minions-evals list TYPE`?"), "list_records"),
    (_LIST, r'list_records {"type": "\1"}'),
    (re.compile(r"`?minions-evals runs ([^\s`]+)`?(?= shows)"), r'get_run {"runId": "\1"}'),
    (re.compile(r"`?minions-evals runs`?"), 'list_records {"type": "run"}'),
    (re.compile(r"(?:Import agent-runs|Import it|Import)\b"), "Save it with save_records"),
    (
        re.compile(r"minions-evals accept ([^\s)]+)"),
        r'save_records {"records": [{"id": "\1", "type": "test-case", "fields": {"expectedOutputs": {"output": "…"}}}], "merge": true}',
    ),
    (re.compile(r"another --key"), "another idempotencyKey"),
    (
        re.compile(r"[Rr]esume with --key (\S+?);"),
        r'Resume: call again with the same arguments and "idempotencyKey": "\1";',
    ),
    (
        re.compile(r"[Rr]esume with --key (\S+?)\.(?=\s|$)"),
        r'Resume: call again with the same arguments and "idempotencyKey": "\1".',
    ),
)
_ARGUMENTS = {
    "--max-cost-usd": "maxCostUsd", "--target": "target", "--prompt-version": "promptVersionRef", "--judge": "judge",
    "--fresh": "fresh", "--trials": "trials", "--columns": "columns", "--key": "idempotencyKey", "--agent-run": "agentRunId",
}  # fmt: skip
_OPTION = re.compile(r"--[a-z][a-z-]+")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_OTHERS = re.compile(r"\b(?:person(?:'s)?|operator)\b.*minions-evals ")
"""What somebody else does at the command line is told with its command: the caller says it to them."""


def refusal(error: EvalsError) -> str:
    """The error for a model to read: its code, what is wrong, and what to do next."""
    return (
        f"{error.code}: {printable(in_arguments(error.message), LONGEST)} {printable(_remedy(error), LONGEST)}".strip()
    )


@contextmanager
def as_protocol_error() -> Generator[None]:
    """A refusal of ours as the protocol's error."""
    try:
        yield
    except EvalsError as error:
        raise MCPError(INTERNAL_ERROR, refusal(error)) from None


def in_arguments(text: str) -> str:
    """The text with the command line's options by their names as arguments."""
    return _OPTION.sub(lambda match: _ARGUMENTS.get(match[0], match[0]), text)


def _remedy(error: EvalsError) -> str:
    if isinstance(error, NotFoundError) and error.kind in LISTED:
        return f'Next: list_records {{"type": "{error.kind}"}} shows ids.'
    if isinstance(error, StoreError) and error.remedy:
        return f"Tell the operator: {error.remedy}"
    return in_tools(error.remedy)


def with_remedy(error: EvalsError) -> str:
    """The error with its remedy in tools, for an answer that is no refusal itself."""
    return f"{in_arguments(error.message)} {_remedy(error)}".strip()


def in_tools(text: str) -> str:
    """Sentences about the command line, said of the tools; one that cannot be, and is nobody else's to do, is left out."""
    for pattern, words in _TOOLS:
        text = pattern.sub(words, text)
    sentences = (sentence if _OTHERS.search(sentence) else in_arguments(sentence) for sentence in _SENTENCE.split(text))
    return " ".join(sentence for sentence in sentences if _OTHERS.search(sentence) or not _is_of_commands(sentence))


def _is_of_commands(sentence: str) -> bool:
    return "minions-evals " in sentence or _OPTION.search(sentence) is not None
