"""TypeScript in a config under --trust-code: run by a Node that can take types out, refused by name by one that cannot."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.interop.promptfoo_config.config import ConfigOverrides, read_config
from tests.hang import HANG_S
from tests.node_clients import node_folder
from tests.shared.bench.process import PATH
from tests.workshop import START, config_in, opened

FILES = {
    "lib/words.ts": "export enum Case { Low = 'low', High = 'high' }\n"
    "export const words = (kind: Case): string => (kind === Case.Low ? 'three words' : 'THREE');\n",
    "kinds/index.ts": "export { Case } from '../lib/words.js';\nexport type Kind = 'a' | 'b';\n",
    "write.ts": "import { words } from './lib/words';\nimport { Case, type Kind } from './kinds';\n"
    "export default ({ vars }: { vars: Record<string, string> }): string =>\n"
    "  `${vars.n} ${words(vars.n === '7' ? Case.High : Case.Low)} `;\n",
    "provider.ts": "export default class Provider {\n  constructor(private options: { config?: object }) {}\n"
    "  id(): string { return 'typed'; }\n"
    "  async callApi(prompt: string): Promise<{ output: string }> { return { output: prompt }; }\n}\n",
    "check.ts": "export default (output: string): boolean => output.startsWith('3' as string);\n",
    "change.ts": "export default (output: string): string => output.trim();\n",
    "seven.ts": "export default (name: string): { output: string } => ({ output: '7' });\n",
    "hooks.ts": "export default async (name: string, context: object): Promise<void> => {};\n",
    "c.yaml": "prompts: [file://write.ts]\nproviders: [file://provider.ts]\nextensions: [file://hooks.ts]\ntests:\n"
    "  - {vars: {n: 3}, options: {transform: file://change.ts},\n"
    "     assert: [{type: equals, value: 3 three words}, {type: javascript, value: file://check.ts}]}\n"
    "  - {vars: {n: file://seven.ts}, assert: [{type: contains, value: 7 THREE}]}\n",
}
TRUSTED = ConfigOverrides(trust_code=True)


def written(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder / "c.yaml"


async def test_every_part_that_code_may_make_can_be_typescript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = node_folder()
    if newer is None:
        pytest.skip("the environment has no Node of its own")
    monkeypatch.setenv("PATH", f"{newer / 'bin'}{os.pathsep}{PATH}")
    path = written(tmp_path)
    evaluation = await anyio.to_thread.run_sync(lambda: read_config(path, now=START, overrides=TRUSTED))
    with anyio.fail_after(HANG_S):
        async with opened(replace(config_in(tmp_path), trust_code=True)) as engine:
            matrix = await evaluate(engine, evaluation, EvalOptions(), environment={})
    cells = [cell for row in matrix.rows for cell in row.cells]
    assert [(cell.output, cell.passed) for cell in cells] == [("3 three words", True), ("7 THREE ", True)]


PARTS = (
    "prompts: [file://write.ts]",
    "providers: [file://provider.ts]",
    "extensions: [file://hooks.ts]",
    "tests: [{vars: {n: file://seven.ts}}]",
    "tests: [{assert: [{type: javascript, value: file://check.ts}]}]",
    "tests: [{options: {transform: file://change.ts}}]",
)
OLDER = "TypeScript needs Node 22.18 or later"


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    ("version", "trust", "said"),
    [("v20.20.2", True, OLDER), ("v23.4.0", True, OLDER), ("v24.1.0", False, r"trust.code")],
)
def test_it_is_refused_by_name_where_node_is_older_or_nobody_trusts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, version: str, trust: bool, said: str
) -> None:
    (tmp_path / "node").write_text(f"#!/bin/sh\necho {version}\n")
    (tmp_path / "node").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{PATH}")
    rest = {"prompts": "prompts: [a]", "providers": "providers: [echo]"}
    path = written(tmp_path)
    path.write_text("\n".join([part, *(text for key, text in rest.items() if not part.startswith(key))]))
    with pytest.raises(EvalsError, match=said):
        read_config(path, now=START, overrides=ConfigOverrides(trust_code=trust))
