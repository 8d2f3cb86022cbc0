"""A client is made with the first request: who only asks the price pays no import."""

from __future__ import annotations

import subprocess
import sys

import anyio

from minions_evals_mcp.models.client import ModelClient
from minions_evals_mcp.models.late_client import LateClient
from minions_evals_mcp.models.replies import Completion
from tests.hang import HANG_S
from tests.shared.models.asking import ask, client_and_server

LOOKED_AT = """
import sys
from minions_evals_mcp.models.registry import ProviderAccess, Models, ProviderSettings, parse_model
models = Models(ProviderSettings({"anthropic": ProviderAccess("k"), "openai": ProviderAccess("k")}))
for name in ("anthropic:a", "openai:a"):
    models.client(parse_model(name))
print(sorted({"anthropic", "openai"} & sys.modules.keys()))
"""


def test_looking_whether_a_provider_can_be_asked_imports_no_sdk() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LOOKED_AT], capture_output=True, text=True, check=True, timeout=HANG_S
    )
    assert ended.stdout == "[]\n"


async def test_calls_that_come_together_make_one_client_which_is_closed_once() -> None:
    made: list[ModelClient] = []
    async with client_and_server("anthropic") as (real, _):

        def make() -> ModelClient:
            made.append(real)
            return real

        late = LateClient("anthropic", make)
        replies: list[object] = []

        async def call() -> None:
            replies.append(await late.complete(ask(), deadline_s=HANG_S))

        assert not late.fault_counts
        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as tasks:
                for _ in range(8):
                    tasks.start_soon(call)
            await late.aclose()
    assert len(made) == 1
    assert [type(one) for one in replies] == [Completion] * 8


async def test_a_client_that_was_never_called_has_nothing_to_close() -> None:
    def make() -> ModelClient:
        raise AssertionError("nobody called")

    await LateClient("anthropic", make).aclose()
