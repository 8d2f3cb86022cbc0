"""Parts of logs as other tools write them: records of each format, for tests that need a whole file of it."""

from __future__ import annotations

from pydantic import JsonValue

from tests.shared.agent.traces import spoken
from tests.shared.interop.makers import Json

CALL: Json = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"id": 7}'}}

TAU: Json = {
    "task_id": 3,
    "trial": 1,
    "reward": 1.0,
    "info": {
        "task": {
            "user_id": "mia",
            "instruction": "Change the seat.",
            "actions": [{"name": "find", "kwargs": {"id": 7}}],
            "outputs": [],
        },
        "source": "user",
        "user_cost": 0.01,
        "reward_info": {"reward": 1.0, "info": {"r_actions": 1.0}},
    },
    "traj": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "name": "find", "content": "12A"},
        {"role": "assistant", "content": "Done."},
    ],
}


def tau2_simulation(reward: float | None, ending: str = "user_stop", trial: int = 0) -> Json:
    """One simulation of tau2-bench, that ended so with that reward."""
    call: Json = {"id": "c1", "name": "find", "arguments": {"id": 7}, "requestor": "assistant"}
    return {
        "id": f"s{trial}", "task_id": "7", "trial": trial, "termination_reason": ending, "agent_cost": 0.5, "duration": 2.0,
        "reward_info": None if reward is None else {"reward": reward, "db_check": {"db_match": True}},
        "messages": [
            {"role": "user", "content": "Hi", "tool_calls": None},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "id": "c1", "content": "12A", "error": False},
            {"role": "assistant", "content": "Done."},
        ],
    }  # fmt: skip


TAU2: Json = {
    "timestamp": "2026-01-01T00:00:00Z",
    "info": {"environment_info": {"domain_name": "airline"}, "agent_info": {"llm": "gpt-x"}},
    "tasks": [{"id": "7", "user_scenario": {"instructions": {"reason_for_call": "seat"}},
               "evaluation_criteria": {"actions": [{"action_id": "a", "name": "find", "arguments": {"id": 7}}]}}],
}  # fmt: skip


DEEPEVAL: Json = {
    "testFile": "test_geo.py",
    "identifier": "geo",
    "hyperparameters": {"model": "gpt-x"},
    "testCases": [
        {
            "name": "case 0",
            "input": "France?",
            "actualOutput": "Paris",
            "expectedOutput": "Paris",
            "order": 0,
            "odd": 1,
            "retrievalContext": ["ctx"],
            "toolsCalled": [{"name": "find", "inputParameters": {"q": 1}, "output": "r"}],
            "completionTime": 1.5,
            "tokenCost": 0.25,
            "metricsData": [{"name": "Relevancy", "score": 0.5, "success": True, "reason": "fine", "threshold": 0.4}],
        }
    ],
    "conversationalTestCases": [
        {
            "name": "chat",
            "turns": [
                {"role": "user", "content": "Hi", "order": 0},
                {"role": "assistant", "content": "Hello", "order": 1},
            ],
            "metricsData": [],
            "success": True,
        }
    ],
}
TRACE: Json = {
    "info": {
        "trace_id": "tr-1",
        "trace_location": {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": "7"}},
        "request_time": "2026-11-20T10:00:00Z",
        "state": "OK",
        "assessments": [
            {
                "assessment_name": "quality",
                "feedback": {"value": 0.5},
                "rationale": "so so",
                "source": {"source_type": "HUMAN"},
            },
            {"assessment_name": "expected_response", "expectation": {"value": "A1"}},
        ],
    },
    "data": {
        "spans": [
            {
                "span_id": "a",
                "parent_span_id": None,
                "name": "agent",
                "status": {"code": "STATUS_CODE_OK"},
                "start_time_unix_nano": 0,
                "end_time_unix_nano": 2_000_000,
                "attributes": {
                    "mlflow.spanInputs": '{"messages": [{"role": "user", "content": "Q"}]}',
                    "mlflow.spanOutputs": '"A1"',
                },
            },
            {
                "span_id": "b",
                "parent_span_id": "a",
                "name": "find",
                "attributes": {
                    "mlflow.spanType": '"TOOL"',
                    "mlflow.spanInputs": '{"q": 1}',
                    "mlflow.spanOutputs": "[2]",
                },
            },
        ]
    },
}


def observation(ident: str, **more: object) -> Json:
    return {"id": ident, "traceId": "t1", "type": "SPAN", "startTime": "2026-11-20T10:00:00Z", "projectId": "p", **more}


def line(sample: str, name: str, score: float, **more: object) -> Json:
    return {
        "schema_version": "0.3.0",
        "evaluation_id": "geo/m/1",
        "model_id": "org/m",
        "evaluation_name": name,
        "sample_id": sample,
        "interaction_type": "single_turn",
        "input": {"raw": f"{sample}?", "reference": ["Paris"]},
        "output": {"raw": ["Paris"]},
        "answer_attribution": [],
        "evaluation": {"score": score, "is_correct": score >= 1},
        "token_usage": {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4},
        "metadata": {"subject": "x"},
        **more,
    }


SPEC: Json = {
    "spec": {
        "completion_fns": ["gpt-x"], "eval_name": "capitals.dev.v0", "base_eval": "capitals", "split": "dev",
        "run_config": {"completion_fns": ["gpt-x"], "eval_spec": {"cls": "evals.elsuite.basic.match:Match"}},
        "run_id": "240101RUN", "created_at": "2026-11-20 10:00:00",
    }
}  # fmt: skip


def event(number: int, sample: str, kind: str, data: Json) -> Json:
    return {
        "run_id": "240101RUN", "event_id": number, "sample_id": sample, "type": kind, "data": data,
        "created_by": "", "created_at": f"2026-11-20 10:00:{number:02}.000000+00:00",
    }  # fmt: skip


def sampling(number: int, sample: str, said: str) -> Json:
    prompt = [{"role": "system", "content": "Short."}, {"role": "user", "content": f"Capital {sample}?"}]
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    return event(number, sample, "sampling", {"prompt": prompt, "sampled": [said], "usage": usage})


LOG = [
    SPEC,
    sampling(0, "a.dev.0", "Paris"),
    sampling(1, "a.dev.1", "Rome"),
    event(
        2, "a.dev.1", "match", {"correct": False, "expected": ["Madrid", "Villa"], "picked": None, "sampled": "Rome"}
    ),
    event(3, "a.dev.0", "match", {"correct": True, "expected": "Paris", "picked": "Paris", "sampled": "Paris"}),
    event(4, "a.dev.0", "metrics", {"accuracy": 1.0, "note": "odd"}),
    {"final_report": {"accuracy": 0.5}},
]
CHECKS: list[JsonValue] = [{"type": "contains", "value": "{{country}}"}, {"type": "no-such-check", "value": 1}]


def result(test: int, prompt: int, *checks: JsonValue, **more: JsonValue) -> Json:
    variables: Json = {"country": ("France", "Spain")[test]}
    said = f"About {variables['country']}"
    parts: list[JsonValue] = [{"pass": True, "score": 0.75, "reason": "ok", "assertion": check} for check in checks]
    return {
        "id": f"r{test}{prompt}", "promptIdx": prompt, "testIdx": test, "vars": variables, "provider": {"id": "echo", "label": ""},
        "prompt": {"raw": f"Say {variables['country']}", "label": f"p{prompt}"},
        "testCase": {"vars": variables, "assert": [*checks], "threshold": 0.5},
        "response": {"output": said, "finishReason": "stop"}, "success": True, "score": 0.75, "namedScores": {"tone": 0.5},
        "gradingResult": {"pass": True, "score": 0.75, "reason": "fine", "componentResults": parts}, "failureReason": 0,
        "latencyMs": 12, "cost": 0.01, "tokenUsage": {"prompt": 3, "completion": 4, "total": 7}, "oddKey": {"x": 1}, **more,
    }  # fmt: skip


def results(*listed: Json, version: int = 3) -> Json:
    prompts: list[JsonValue] = [{"raw": "Say {{country}}", "label": "p0"}, {"raw": "Tell {{country}}", "label": "p1"}]
    held: Json = {
        "version": version,
        "timestamp": "2026-11-20T10:00:00Z",
        "prompts": prompts,
        "results": [*listed],
        "stats": {},
    }
    return {"evalId": "eval-1", "results": held, "config": {"description": "geo"}, "metadata": {"who": "me"}}


EVALS = [
    {"id": 1, "prompt": "Review the diff.", "expected_output": "A list of faults.", "files": ["a.py"], "assertions": ["Names the file"]},
    {"id": "two", "prompt": "Fix it.", "expectations": [{"text": "The tests pass", "type": "manual"}], "should_trigger": False},
]  # fmt: skip
CHAT: Json = {
    "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2,
    "gen_ai.input.messages": spoken("user", "Where?"), "gen_ai.output.messages": spoken("assistant", "Here."), "own.key": "kept",
}  # fmt: skip
TAU2_TASK: Json = {
    "id": "7", "description": {"purpose": "A change that is allowed."},
    "user_scenario": {
        "persona": "In a hurry",
        "instructions": {"domain": "airline", "reason_for_call": "You want one more bag.", "known_info": "You are Ann Lee.",
                         "unknown_info": None, "task_instructions": "Pay by card."},
    },
    "initial_state": None,
    "evaluation_criteria": {
        "actions": [{"action_id": "7_0", "name": "get_user", "arguments": {"id": "a"}, "info": None},
                    {"action_id": "7_1", "name": "update_bags", "arguments": {"bags": 2}, "info": None}],
        "communicate_info": ["1,628"], "nl_assertions": ["Agent adds a bag."], "reward_basis": ["DB"],
    },
}  # fmt: skip
