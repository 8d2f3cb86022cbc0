"""Real coding agents export over gRPC, each with an exporter of its own language: a turn is one agent-run, with what the model said."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import anyio.to_thread
import pytest

from agent.settings import Working
from agent.sources.otlp_http import otlp_intake
from agent.sources.otlp_judging import TraceJudging
from agent.sources.otlp_traces import TraceIntake
from minions_evals_mcp.operations.engine import Engine
from tests.hosts.programs import HOSTS, KEY, LONGEST_S
from tests.hosts.scripted_model import Script, ScriptedModel, serving
from tests.shared.agent.desk import Json
from tests.shared.agent.grpc_exporter import grpc_served, needs_grpc

if TYPE_CHECKING:
    from agent.daemon import Agent

pytestmark = needs_grpc
ASKED, ANSWERED = "Say hello.", "None of the tools is there."
TOKENS = 1280
"""What the scripted model says that it used."""


def claude(model: str, endpoint: str) -> tuple[list[str], dict[str, str]]:
    """The words and the settings with which Claude Code asks that model and tells that endpoint."""
    return ["claude", "-p", ASKED], {
        "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": model, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_ENABLE_TELEMETRY": "1", "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1", "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_TRACES_EXPORTER": "otlp", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_LOG_USER_PROMPTS": "1",
    }  # fmt: skip


def codex(model: str, endpoint: str) -> tuple[list[str], dict[str, str]]:
    """As `claude`, for Codex."""
    provider = f'{{name="scripted",base_url="{model}/v1",wire_api="responses",env_key="OPENAI_API_KEY"}}'
    exporter = f"{{otlp-grpc={{endpoint={json.dumps(endpoint)}}}}}"
    options = [
        'model="gpt-5.1"', 'model_provider="scripted"', f"model_providers.scripted={provider}", "check_for_update_on_startup=false",
        f"otel.exporter={exporter}", f"otel.trace_exporter={exporter}", "otel.log_user_prompt=true",
    ]  # fmt: skip
    words = [part for option in options for part in ("-c", option)]
    return ["codex", "exec", "--skip-git-repo-check", *words, ASKED], {"OPENAI_API_KEY": KEY}


def no_calls() -> Script:
    """A script without a step: the model answers at once."""
    yield from ()


@pytest.mark.parametrize(("told", "outputs"), [(claude, {"output": ANSWERED}), (codex, {})])
async def test_a_turn_of_a_real_agent_is_one_agent_run(
    tmp_path: Path, engine: Engine, told: Callable[[str, str], tuple[list[str], dict[str, str]]], outputs: Json
) -> None:
    node_home = HOSTS.require()
    intake = TraceIntake(cast("Agent", SimpleNamespace(engine=engine, rhythm=Working().rhythm())), TraceJudging())
    async with grpc_served(otlp_intake(intake, None)) as address:
        with serving(ScriptedModel(no_calls())) as model:
            (program, *words), settings = told(model, f"http://{address}")
            env = {"HOME": str(tmp_path), "PATH": f"{node_home / 'bin'}:/usr/bin:/bin", "TERM": "dumb", **settings}

            def run() -> None:
                command = [str(HOSTS.modules / ".bin" / program), *words]
                subprocess.run(
                    command,
                    cwd=tmp_path,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    check=True,
                    timeout=LONGEST_S,
                )

            await anyio.to_thread.run_sync(run)
    (fields,) = (cast("Json", run["fields"]) for run in intake.whole())
    assert (fields["inputs"], fields["outputs"], fields["tokensUsed"]) == ({"input": ASKED}, outputs, TOKENS)
