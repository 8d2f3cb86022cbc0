"""`extensions` of a config: hooks in files of the user's, where the operator trusts them, and what `beforeAll` makes of the config.

Where promptfoo 0.123.1 and we differ: each call is given a copy of the test (there columns share its variables, and what
one call changes the next one changes again); hooks are called one at a time; `afterEach` comes once all outputs are judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.config_eval.evaluation import Column, Evaluation, EvaluationHooks
from minions_evals_mcp.engine.config_eval.filling import with_metrics
from minions_evals_mcp.engine.config_eval.matrix import Matrix
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.promptfoo_config.cases import ConfigTest, test_digest
from minions_evals_mcp.interop.promptfoo_config.prompts import PromptText
from minions_evals_mcp.interop.promptfoo_config.source.code import code_file, runs_types
from minions_evals_mcp.interop.promptfoo_config.source.reading import Node, named_file, read_node, read_text
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals
from minions_evals_mcp.interop.promptfoo_config.tests import test_nodes
from minions_evals_mcp.interop.promptfoo_results import results_json
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.targets.code_files import files_digest
from minions_evals_mcp.targets.hooks import BeforeEach, Hook, HookedTest, HookError, Hooks

TRUSTED = f"hooks run only with {argument('trust_code')}"
CHANGED = ("prompts", "tests", "defaultTest", "scenarios", "derivedMetrics")
"""What of a config `beforeAll` may change."""
LATE = "afterEach is called for each output once all are judged, not between them"
METADATA = "metadata that an afterEach gives is not saved"


def read_hooks(node: Node | None, refusals: Refusals) -> Hooks | None:
    """The hooks that the config names; None where it names none, or one is refused."""
    if node is None:
        return None
    before = len(refusals)
    hooks = [hook for element in node.elements() if (hook := _hook(element, refusals)) is not None]
    if len(refusals) > before:
        return None
    if any(hook.only in {None, "afterEach"} for hook in hooks):
        refusals.note(node, LATE)
    return Hooks(tuple(hooks))


def _hook(node: Node, refusals: Refusals) -> Hook | None:
    code = None if node.file is None else code_file(node.file)
    if code is None:
        refusals.add(node, "hooks stand in files of JavaScript and Python: file://hooks.js:NAME")
        return None
    file, function = code
    if not refusals.trust_code:
        refusals.add(node, f"{file}: {TRUSTED}")
        return None
    if not runs_types(node, file, refusals):
        return None
    path = named_file(node, file)
    read_text(path)  # one that cannot be read is refused here
    return Hook(path, function, files_digest([path], node.source.base.resolve()))


def told_suite(
    hooks: Hooks | None, root: Mapping[str, Node], prompts: Sequence[PromptText], *, called: bool
) -> tuple[Json, Json]:
    """The config as hooks are told it, and what `beforeAll` changes of it, unless that was `called` already."""
    if hooks is None:
        return {}, {}
    suite = _suite(root, prompts)
    return suite, {} if called else _changed(hooks, suite, prompts, root["extensions"])


def _suite(root: Mapping[str, Node], prompts: Sequence[PromptText]) -> Json:
    """Its tests as they stand, before `defaultTest` is under them."""
    refusals = Refusals(trust_code=True)  # what is refused was refused before
    default = root.get("defaultTest")
    if default is not None and default.file is not None:
        default = read_node(named_file(default, default.file), default.source.base)
    settings = {} if default is None or not isinstance(default.value, dict) else default.value
    providers = root["targets"] if "targets" in root else root["providers"]
    listed = providers.value if isinstance(providers.value, list) else [providers.value]
    parts = {name: root[name].value for name in ("description", "derivedMetrics", "extensions", "tags") if name in root}
    scenarios: Json = {}
    if "scenarios" in root:
        scenarios["scenarios"] = [node.value for node in test_nodes(root["scenarios"], refusals)]
    return {
        "tags": {}, **parts, **scenarios, "prompts": [{"raw": prompt.raw, "label": prompt.label} for prompt in prompts],
        "providers": [provider if isinstance(provider, dict) else {"id": provider} for provider in listed], "providerPromptMap": {},
        "tests": [node.value for node in test_nodes(root["tests"], refusals)] if "tests" in root else [],
        "defaultTest": {"metadata": {}, "options": {}, "vars": {}, "assert": [], **settings}, "nunjucksFilters": {},
    }  # fmt: skip


def _changed(hooks: Hooks, suite: Json, prompts: Sequence[PromptText], node: Node) -> Json:
    """Returns what `beforeAll` changes, by the config's keys; raises with the place of the extensions for what it may not."""
    try:
        left = hooks.run("beforeAll", {"suite": suite})["suite"]
    except HookError as error:
        hooks.close()
        raise node.wrong(str(error)) from None
    assert isinstance(left, dict), "a context without a suite was refused"
    names = [name for name in {**suite, **left} if suite.get(name) != left.get(name)]
    for name in names:
        by_code = name == "prompts" and any(prompt.writer is not None for prompt in prompts)
        if name not in CHANGED or by_code:
            hooks.close()
            what = f"{name} that code writes" if by_code else name
            raise node.wrong(f"beforeAll changed {what}, which is not supported")
    return {name: [] if left.get(name) is None else left[name] for name in names}


@dataclass(frozen=True, slots=True)
class _After:
    """The hooks that are called once all outputs are judged."""

    hooks: Hooks
    suite: Json
    now: datetime

    async def __call__(self, evaluation: Evaluation, matrix: Matrix) -> Matrix:
        """The matrix with the scores that `afterEach` gives; raises `BadInputError` where `afterAll` fails."""
        at = self.now.isoformat(timespec="seconds")
        notes: dict[str, None] = {}
        scores: dict[tuple[int, int], dict[str, float]] = {}
        for result in _results(results_json(matrix, evaluation, at=at)):
            after_hook = await self._named_scores(result, notes)
            place = (int(str(result["testIdx"])), int(str(result["promptIdx"])))
            if after_hook != result["namedScores"]:
                scores[place] = {
                    name: float(value) for name, value in after_hook.items() if isinstance(value, int | float)
                }
        matrix = with_metrics(matrix, scores, evaluation.derived).model_copy(update={"notes": (*matrix.notes, *notes)})
        document = results_json(matrix, evaluation, at=at)
        inner = document["results"]
        assert isinstance(inner, dict)
        context: Json = {
            "prompts": inner["prompts"], "results": inner["results"], "suite": self.suite, "evalId": document["evalId"],
            "config": document["config"],
        }  # fmt: skip
        try:
            await self.hooks.later("afterAll", context)
        except HookError as error:
            raise BadInputError(f"extensions: {error}. What was judged is kept.") from None
        return matrix

    async def _named_scores(self, result: Json, notes: dict[str, None]) -> Json:
        """The named scores of one result after the hooks; a hook that fails changes none, and is noted."""
        case = result["testCase"]
        test: Json = {**(case if isinstance(case, dict) else {}), "vars": result["vars"]}
        try:
            left = (await self.hooks.later("afterEach", {"test": test, "result": result}))["result"]
        except HookError as error:
            notes[f"extensions: {error}"] = None
            left = result
        assert isinstance(left, dict), "the result stays there"
        if left.get("metadata") != result.get("metadata"):
            notes[f"extensions: {METADATA}"] = None
        named = left.get("namedScores")
        return named if isinstance(named, dict) else {}


def _results(document: Json) -> list[Json]:
    inner = document["results"]
    listed = inner["results"] if isinstance(inner, dict) else None
    return [result for result in listed if isinstance(result, dict)] if isinstance(listed, list) else []


def evaluation_hooks(hooks: Hooks, suite: Json, cases: Sequence[ConfigTest], now: datetime) -> EvaluationHooks:
    """Returns what is called before each output of those tests, and after all of them."""
    tests = {test_digest(case.written.test): HookedTest(case.written.test, case.filled) for case in cases}
    return EvaluationHooks(BeforeEach(hooks, tests), _After(hooks, suite, now))


def hooked(columns: Sequence[Column], hooks: Hooks) -> tuple[Column, ...]:
    """The columns, whose outputs depend on the code of the hooks."""
    code = hooks.digest()

    def after(column: Column) -> Column:
        parts = (
            replace(part, provider=part.provider.model_copy(update={"after": f"{part.provider.after}{code}"}))
            for part in column.parts
        )
        return replace(column, parts=tuple(parts))

    return tuple(map(after, columns))
