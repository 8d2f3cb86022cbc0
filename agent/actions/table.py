"""The agent's action for each trigger of each skill: it asks the engine, under a key made of the message's id."""

from __future__ import annotations

from agent.actions import judging, learning, testing_api
from agent.instructions import instruction
from agent.message_work import Action
from minions_evals_mcp.messages.testing_api import VERBS

ACTIONS: dict[str, dict[str, Action]] = {
    "run-test-case": {
        "run-test-case": judging.judge_case, "agent-run-completed": judging.judge_agent_run, "approval-decided": judging.take_answer,
    },
    "run-benchmark": {"run-benchmark": judging.judge_benchmark, "schedule": judging.judge_on_schedule},
    "detect-trend": {"benchmark-run-recorded": learning.check_trend, "detect-trend": learning.see_trend},
    "compare-prompt-versions": {"compare-prompts": learning.compare, "approve-prompt-version": learning.decide_version},
    "classify-failure": {"test-run-recorded": learning.learn_from_failure, "classify-failure": learning.classify},
}  # fmt: skip
"""By skill and trigger. Which of them are carried out, the skills' files decide."""

UNBOUND: dict[str, Action] = {
    "instruction": instruction.follow_instruction,
    **dict.fromkeys(VERBS, testing_api.carry_out_verb),
}
"""What is carried out with all skills at once, so that none of their files names it."""
