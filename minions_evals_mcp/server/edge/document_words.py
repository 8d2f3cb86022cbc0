"""Tools that the documents name otherwise: verbs of the testing API and of prompt scoring, and the call that does each over MCP."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping

from pydantic import JsonValue

_CASE: Mapping[str, JsonValue] = {"testCaseId": "CASE"}
_CHANGED_CASE: Mapping[str, JsonValue] = {
    "records": [{"id": "CASE", "type": "test-case", "fields": {"expectedOutput": "TEXT"}}],
    "merge": True,
}
_BRANCH: Mapping[str, JsonValue] = {"id": "BRANCH", "type": "test-branch"}
_NEW_BRANCH: Mapping[str, JsonValue] = {
    "records": [
        {
            "type": "test-branch",
            "fields": {"testCaseId": "CASE", "name": "NAME", "provider": "openai", "model": "MODEL"},
        }
    ]
}
_PICK: Mapping[str, JsonValue] = {
    "picks": [{"id": "ROW", "outputs": ["TEXT", "TEXT"], "assert": [{"type": "contains", "value": "TEXT"}]}]
}
CALLS: Mapping[str, tuple[str, Mapping[str, JsonValue]]] = {
    "testcases": ("get_statistics", {"promptId": "PROMPT"}),
    "testcase": ("get_statistics", _CASE),
    "testcaseexecutions": ("get_statistics", {**_CASE, "executions": True}),
    "testcasestats": ("get_statistics", _CASE),
    "createpromptversion": (
        "save_records",
        {"records": [{"type": "prompt-version", "fields": {"promptId": "PROMPT", "content": "TEXT"}}]},
    ),
    "createtestcase": (
        "save_records",
        {"records": [{"type": "test-case", "fields": {"promptId": "PROMPT", "name": "NAME", "input": {}}}]},
    ),
    "updatetestcase": ("save_records", _CHANGED_CASE),
    "deletetestcase": ("delete_record", {"id": "CASE"}),
    "executetestcase": ("run_test_case", _CASE),
    "runtestcase": ("run_test_case", _CASE),
    "runtest": ("run_test_case", _CASE),
    "batchruntests": ("run_test_case", {"promptId": "PROMPT"}),
    "runtestsuite": ("run_test_case", {"promptId": "PROMPT"}),
    "updateexpectedoutput": ("save_records", _CHANGED_CASE),
    "branchesofcase": ("get_statistics", _CASE),
    "testbranches": ("get_statistics", _CASE),
    "branchexecutions": ("get_statistics", {"branchId": "BRANCH"}),
    "testbranchexecutions": ("get_statistics", {"branchId": "BRANCH"}),
    "createbranch": ("save_records", _NEW_BRANCH),
    "createtestbranch": ("save_records", _NEW_BRANCH),
    "updatebranch": ("save_records", {"records": [{**_BRANCH, "fields": {"temperature": 0.2}}], "merge": True}),
    "updatetestbranch": ("save_records", {"records": [{**_BRANCH, "fields": {"temperature": 0.2}}], "merge": True}),
    "deletebranch": ("delete_record", {"id": "BRANCH"}),
    "deletetestbranch": ("delete_record", {"id": "BRANCH"}),
    "runabtest": ("run_ab_test", _CASE),
    "comparepromptversions": ("compare_prompt_versions", {"benchmarkId": "BENCHMARK"}),
    "compareprompts": ("compare_prompt_versions", {"benchmarkId": "BENCHMARK"}),
    "compareversions": ("compare_prompt_versions", {"benchmarkId": "BENCHMARK"}),
    "maxscore": ("score_outputs", _PICK),
    "selectbest": ("score_outputs", _PICK),
    "scorecard": ("score_outputs", {"runId": "RUN"}),
}
"""The words in lower case and without marks, `get` and `list` left out."""


def meant_call(name: str, offered: Collection[str]) -> str | None:
    """The call that does what a document calls by that name; None where no document does, or the tool is not offered."""
    words = re.sub(r"[^a-z]", "", name.lower())
    tool, arguments = CALLS.get(re.sub(r"^(get|list)", "", words), ("", {}))
    return f"{tool} {json.dumps(arguments)}" if tool in offered else None
