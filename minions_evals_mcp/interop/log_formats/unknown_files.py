"""The answer about a file of no known format: what was found in it, which formats come nearest, and what else can be done."""

from __future__ import annotations

from pydantic import JsonValue

from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.column_guess import ROWS, suggested_import, table_refused
from minions_evals_mcp.interop.containers import aggregate, container, table_of_results
from minions_evals_mcp.interop.log_formats.table import FORMATS, Seen
from minions_evals_mcp.interop.logs.files import head_of
from minions_evals_mcp.interop.parsing import ROOTS, not_utf8
from minions_evals_mcp.interop.text_table import SEPARATORS
from minions_evals_mcp.next_steps import Next, argument

KEYS: dict[str, str] = {
    "inspect-json": "version status eval plan results stats samples reductions",
    "promptfoo": "evalId results config shareableUrl gradingResult testCase promptIdx success",
    "openai-evals": "spec final_report run_id event_id sample_id type data created_at",
    "openai-evals-samples": "input ideal",
    "openai-evals-items": "object eval_id datasource_item datasource_item_id results sample grades passes run_id",
    "otel": "resourceSpans scopeSpans spans traceId spanId attributes",
    "otel-logs": "resourceLogs scopeLogs logRecords",
    "claude-plugin-eval": "schemaVersion claudeVersion suite cases aggregates arms graders runsPerCase",
    "tau2": "tasks simulations info timestamp termination_reason reward_info",
    "tau2-tasks": "id description user_scenario initial_state evaluation_criteria",
    "openevals": "trajectory evaluator_results thread_id",
    "tau-bench": "task_id reward info traj trial",
    "deepeval": "testCases conversationalTestCases metricsData testFile testRunData",
    "atif": "schema_version trajectory_id agent steps final_metrics",
    "every-eval-ever": "schema_version evaluation_id sample_id interaction_type evaluation_results model_info",
    "lm-eval": "doc_id doc target arguments resps filtered_resps filter metrics doc_hash prompt_hash target_hash",
    "mlflow": "info data trace_id request_id spans assessments",
    "langsmith": "run_type trace_id inputs outputs dataset_id reference_example_id",
    "langsmith-evaluate": "run example evaluation_results example_id execution_time results",
    "opik": "experiment items dataset_item_id evaluation_task_output feedback_scores test_results test_case score_results",
    "opik-trace": "trace spans downloaded_at project_name",
    "braintrust": "_xact_id input output expected scores span_attributes root_span_id span_parents experiment_id dataset_id",
    "azure-evaluation": "rows metrics studio_url inputs.query inputs.response inputs.ground_truth outputs.response",
    "phoenix-experiment": "example_id repetition_number input reference_output output annotations latency_ms trace_id",
    "langfuse": "traceId observations scores sessionId projectId dataType expectedOutput datasetName",
    "ragas": "user_input response reference retrieved_contexts reference_contexts multi_responses rubrics",
    "data-set": "input expected_output expectedOutput context retrieval_context tools_called expected_tools scenario",
    "adk-evalset": "eval_set_id eval_cases eval_id conversation session_input",
    "adk-result": "eval_set_result_id eval_set_result_name eval_case_results eval_id final_eval_status session_id user_id",
    "pydantic-evals": "cases evaluators inputs expected_output metadata report_evaluators",
    "strands": "cases evaluators input expected_output expected_trajectory session_id",
    "pydantic-evals-report": "cases failures analyses inputs output assertions labels scores metrics task_duration evaluator_failures",
    "harbor": "task_name trial_name agent_info agent_result verifier_result exception_info n_total_trials stats trial_results",
    "strands-report": "overall_score scores cases test_passes reasons detailed_results diagnoses recommendations actual_output",
    "claude-code": "type sessionId uuid parentUuid isSidechain message timestamp",
    "codex": "type timestamp ordinal payload thread_id",
    "gemini-cli": "sessionId projectHash startTime lastUpdated kind messages",
    "opencode": "info messages sessionID part",
    "skill-evals": "skill_name evals prompt expectations should_trigger assertions",
}
"""Keys that are usual in each format, at the top and in what its lists hold."""
SHOWN, NEAREST = 12, 3


def is_suite(seen: Seen, head: str) -> bool:
    """Whether the file may be a suite of ours: it names its records, or each line is one."""
    first = obj(seen.first[0]) if isinstance(seen.first, list) and seen.first else obj(seen.first)
    if "type" in first and ("fields" in first or "id" in first):
        return True
    if seen.is_lines:
        return False
    if seen.path.suffix.lower() in {".yaml", ".yml"}:
        return any(name in head for name in (*ROOTS, "relations"))
    return any(name in first for name in (*ROOTS, "relations"))


def refusal(seen: Seen) -> BadInputError:
    """The error for a file that is neither a suite nor of a known format."""
    known = container(seen.path) or aggregate(obj(seen.first))
    if known is not None:
        return BadInputError(f"{seen.path} is {known.is_a}.", remedy=known.remedy)
    damage = "" if seen.magic else not_utf8(head_of(seen.path), is_whole=False)
    is_table = not damage and not seen.magic and seen.path.suffix.lower() in SEPARATORS
    if is_table and (known := table_of_results(head_of(seen.path).decode("utf-8", "ignore"))) is not None:
        return BadInputError(f"{seen.path} is {known.is_a}.", remedy=known.remedy)
    if is_table:
        return table_refused(seen.path)
    content = f"it is not UTF-8 ({damage})" if damage else found(seen)
    keys = _keys(seen.first)
    near = sorted(KEYS, key=lambda name: -_share(keys, name))[:NEAREST]
    nearest = [name for name in near if _share(keys, name) > 0]
    closest = f" Nearest: {', '.join(nearest)}." if nearest else ""
    return BadInputError(
        f"{seen.path} is no suite and looks like none of the known formats: {content}.{closest}",
        remedy=f"docs/reference/log-formats.md lists the {len(FORMATS)} known formats. Name one with"
        f" {argument('format', 'NAME')}. For rows of your own: {_rows(seen)}",
    )


def _rows(seen: Seen) -> str:
    """The command that takes in rows: with their own keys, where those say what they are."""
    is_rows = seen.is_lines or isinstance(seen.first, list)
    first = obj(next(iter(seen.first), None)) if isinstance(seen.first, list) else obj(seen.first)
    texts = [name for name, value in first.items() if isinstance(value, str | int | float) and is_rows]
    return suggested_import(seen.path, texts) or f"{Next('import', ROWS, 'takes them in as test cases')}."


def found(seen: Seen) -> str:
    """What the beginning of the file is, in words."""
    if seen.magic:
        return "it is a binary file"
    if seen.columns:
        return f"it is a table with the columns {_named(dict.fromkeys(sorted(seen.columns)))}"
    match seen.first:
        case dict():
            return (
                f"{'its lines are objects' if seen.is_lines else 'it is an object'} with the keys {_named(seen.first)}"
            )
        case [dict() as first, *_]:
            return f"it is a list of objects with the keys {_named(first)}"
        case list():
            return "it is a list"
        case None:
            return "it is no JSON"
        case _:
            return "it is a single JSON value"


def _named(fields: dict[str, JsonValue]) -> str:
    shown = ", ".join([*fields][:SHOWN]) or "(none)"
    return f"{shown}, …" if len(fields) > SHOWN else shown


def _keys(value: JsonValue) -> set[str]:
    """The keys at the top, and those of the first thing in each list."""
    whole = obj(next(iter(value), None)) if isinstance(value, list) else obj(value)
    below = [obj(next(iter(part), None)) for part in whole.values() if isinstance(part, list)]
    return {*whole, *(key for part in below for key in part)}


def _share(keys: set[str], name: str) -> float:
    """The share of the format's keys that are there; one alone says something only if no other format has it and it is no plain word."""
    known = set(KEYS[name].split())
    shared = keys & known
    return len(shared) / len(known) if len(shared) > 1 or any(map(_is_telling, shared)) else 0.0


def _is_telling(key: str) -> bool:
    is_plain = key.isalpha() and key.islower()
    return not is_plain and sum(key in known.split() for known in KEYS.values()) == 1
