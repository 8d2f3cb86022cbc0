"""Cases as agent frameworks write them: ADK's eval sets, pydantic-evals' data sets (YAML and JSON), Strands' experiments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.sample import EvaluationLog, Item, LogSample
from minions_evals_mcp.interop.logs.shapes import objects_under
from minions_evals_mcp.interop.logs.whole_documents import whole_document
from minions_evals_mcp.sessions.conversation import inputs_of, message_text, objects, texts, without

ADK, PYDANTIC, STRANDS = "adk", "pydantic-evals", "strands"


def is_adk(seen: JsonValue) -> bool:
    """Whether a document is an eval set of ADK's, of today or of before its schema: a list of conversations, or the turns of one."""
    return isinstance(obj(seen).get("eval_cases"), list) or _is_old_adk(seen)


def _is_old_adk(seen: JsonValue) -> bool:
    first = obj(next(iter(listed_values(seen)), None))
    turn = obj(next(iter(listed_values(first.get("data"))), None)) or first
    return {"query", "expected_tool_use"} <= turn.keys()


PYDANTIC_CASE = frozenset({"name", "inputs", "metadata", "expected_output", "evaluators"})
"""What a case of pydantic-evals can say; it refuses any other key."""


def is_pydantic(seen: JsonValue) -> bool:
    """Whether a document is a data set of pydantic-evals."""
    return is_pydantic_case(obj(seen), _first(seen))


def is_pydantic_case(document: Json, case: Json) -> bool:
    """Whether the case is one that pydantic-evals could have written: those of `evaluate` have inputs too."""
    return "inputs" in case and (has_evaluators(document, case) or case.keys() <= PYDANTIC_CASE)


def has_evaluators(document: Json, case: Json) -> bool:
    """Whether the case, or its whole data set, names evaluators, as pydantic-evals alone does."""
    return "evaluators" in document or "evaluators" in case


def is_strands(seen: JsonValue) -> bool:
    """Whether a document is an experiment of Strands."""
    return "input" in _first(seen) and ("evaluators" in obj(seen) or "expected_trajectory" in _first(seen))


def _first(seen: JsonValue) -> Json:
    return obj(next(iter(listed_values(obj(seen).get("cases"))), None))


def read_adk(path: Path) -> Iterator[Item]:
    """A case for each conversation: what the user said; the last answer is a reference, the tools that were used stay beside it."""
    whole = whole_document(path)
    document = _of_today(whole, path) if isinstance(whole, list) else obj(whole)
    yield EvaluationLog(
        ADK,
        path.stem,
        str(document.get("eval_set_id") or path.stem),
        own_id=False,
        extra=without(document, "eval_cases"),
    )
    for place, case in enumerate(objects_under(document, "eval_cases", str(path)), 1):
        where = f"{path}: eval_cases.{place}"
        beside = without(document, "eval_cases", "eval_set_id")
        if scenario := obj(case.get("conversation_scenario")):
            yield _played(case, scenario, place, beside, where)
            continue
        turns = objects_under(case, "conversation", where)
        asked = [message_text(turn.get("user_content")) for turn in turns]
        if not asked:
            raise InvalidRecordError("a case has a conversation, or a scenario", field="conversation", where=where)
        said: list[JsonValue] = []
        for turn, question in zip(turns, asked, strict=True):
            said.append({"role": "user", "content": question})
            if answer := message_text(turn.get("final_response")):
                said.append({"role": "assistant", "content": answer})
        expected = message_text(turns[-1].get("final_response"))
        asking = said[:-1] if expected else said
        tools = [call for turn in turns for call in _tools(obj(turn.get("intermediate_data")))]
        yield LogSample(
            id=case.get("eval_id", place), inputs=inputs_of(asking), targets=texts(expected),
            extra=without({**without(case, "eval_id"), "expectedTools": [*tools] or None, "suite": beside or None}), where=where,
        )  # fmt: skip


def _played(case: Json, scenario: Json, place: int, beside: Json, where: str) -> LogSample:
    """A case whose user a model plays: it begins with that prompt and follows the plan."""
    opening, plan = scenario.get("starting_prompt"), scenario.get("conversation_plan")
    if not isinstance(opening, str) or not isinstance(plan, str) or not plan.strip():
        field = "conversation_scenario"
        raise InvalidRecordError("a scenario has a starting_prompt and a conversation_plan", field=field, where=where)
    persona = _persona(scenario.get("user_persona"))
    return LogSample(
        id=case.get("eval_id", place),
        inputs={"scenario": plan},
        extra=without(
            {
                **without(case, "eval_id", "conversation_scenario"),
                "userPersona": obj(scenario.get("user_persona")) or None,
                "suite": beside or None,
            }
        ),
        where=where,
        conversation=without({"player": "model", "goal": plan, "opening": opening or None, "persona": persona or None}),
    )


def _persona(persona: JsonValue) -> str:
    """Who the user is: what its description and its behaviors say, or the name of a persona that ADK has."""
    if isinstance(persona, str):
        return persona
    described = obj(persona)
    behaviors = objects(described.get("behaviors"))
    return "\n".join(
        text
        for text in (
            *texts(described.get("description")),
            *(text for one in behaviors for text in texts(one.get("behavior_instructions", one.get("description")))),
        )
    )


def _tools(steps: Json) -> Iterator[Json]:
    """The calls of a turn: a list of them, or among the events of the invocation."""
    yield from objects(steps.get("tool_uses"))
    for event in objects(steps.get("invocation_events")):
        for part in objects(obj(event.get("content")).get("parts")):
            if call := obj(part.get("function_call")):
                yield call


def _of_today(old: list[JsonValue], path: Path) -> Json:
    """The eval set in today's schema: `data` of a conversation, or the file itself, is the turns."""
    cases = objects_under({"eval_cases": old}, "eval_cases", str(path))
    if cases and "data" not in cases[0]:
        only: Json = {"name": path.name.split(".")[0], "data": [*cases]}
        cases = [only]
    return {"eval_cases": [_case_of_today(case, f"{path}: {place}") for place, case in enumerate(cases, 1)]}


def _case_of_today(case: Json, where: str) -> Json:
    turns: list[JsonValue] = []
    for turn in objects_under(case, "data", where):
        tools = [
            {"name": use.get("tool_name"), "args": use.get("tool_input")}
            for use in objects(turn.get("expected_tool_use"))
        ]
        turns.append({
            **without(turn, "query", "reference", "expected_tool_use"),
            "user_content": {"role": "user", "parts": [{"text": turn.get("query")}]},
            "final_response": {"role": "model", "parts": [{"text": turn.get("reference")}]},
            "intermediate_data": {"tool_uses": [*tools]},
        })  # fmt: skip
    return {"eval_id": case.get("name"), "conversation": turns, **without(case, "name", "data")}


def read_pydantic(path: Path) -> Iterator[Item]:
    """A case for each, with the evaluators that mean something here; others make it a draft."""
    document = obj(whole_document(path))
    beside = {
        name: value
        for name, value in without(document, "cases", "name", "evaluators", "$schema").items()
        if value != []
    }
    yield EvaluationLog(
        PYDANTIC,
        path.stem,
        str(document.get("name") or path.stem),
        own_id=False,
        extra=without(document, "cases", "name"),
    )
    for place, case in enumerate(objects_under(document, "cases", str(path)), 1):
        where = f"{path}: cases.{place}"
        if "inputs" not in case:
            raise InvalidRecordError("a case has inputs", field="inputs", where=where)
        expected = case.get("expected_output")
        read = pydantic_evaluators(document, case)
        beside_case = without(case, "name", "inputs", "expected_output", "evaluators")
        yield LogSample(
            id=case.get("name") or place, inputs=inputs_of(case["inputs"]), name=str(case.get("name") or ""),
            targets=texts(expected), expected=expected if isinstance(expected, dict) and expected else None,
            assertions=tuple(read.checks), unread=read.not_carried_out,
            extra=without({**beside_case, "evaluators": read.kept or None, "suite": beside or None}),
            where=where,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Evaluators:
    """What a case's evaluators became: checks, names of those without such a meaning here, and what nothing reads of them."""

    checks: list[Json] = field(default_factory=list[Json])
    unread: list[str] = field(default_factory=list[str])
    kept: list[JsonValue] = field(default_factory=list[JsonValue])

    def add(self, evaluator: JsonValue, name: str, check: Json | None, rest: Json) -> None:
        """Takes an evaluator; an empty check is one that does not apply."""
        if check is None:
            self.unread.append(name)
            self.kept.append(evaluator)
        elif check:
            self.checks.append(check)
            self.kept.extend([{name: rest}] if rest else [])

    @property
    def not_carried_out(self) -> tuple[str, ...]:
        """Names of the evaluators that no check stands for; where no check decides, of all that only show a score."""
        if self.checks and all(check.get("weight") == 0 for check in self.checks):
            return (*self.unread, "an evaluator without an assertion")
        return tuple(self.unread)


def pydantic_evaluators(document: Json, case: Json) -> Evaluators:
    """What the evaluators of a case of pydantic-evals became, those of its whole data set first."""
    read = Evaluators()
    for evaluator in (*listed_values(document.get("evaluators")), *listed_values(case.get("evaluators"))):
        read.add(evaluator, *_pydantic_check(evaluator, case.get("expected_output")))
    return read


def _pydantic_check(evaluator: JsonValue, expected: JsonValue) -> tuple[str, Json | None, Json]:
    """The evaluator's name, the check that means what it does, and its options that nothing reads.

    The check is None where there is none, and empty where the evaluator says nothing of the case, as `EqualsExpected` without an
    expected output.
    """
    fields = obj(evaluator)
    name, given = next(iter(fields.items())) if fields else (str(evaluator), None)
    if name == "EqualsExpected" and expected is None:
        return name, {}, {}
    check = _check(name, given, expected)
    options = obj(given)
    if not check:
        return name, None, {}
    if options.get("assertion") is False:  # its score is shown and decides nothing
        check["weight"] = 0
    named = options.get("evaluation_name")
    rest = without(options, *_READ_OPTIONS.get(name, ()), "evaluation_name")
    return (
        name,
        {**check, **({"metric": named} if isinstance(named, str) else {})},
        {} if check["type"] == "equals" else rest,
    )


_READ_OPTIONS = {
    "Contains": ("value", "case_sensitive", "as_strings"), "LLMJudge": ("rubric", "include_input", "assertion"),
    "MaxDuration": ("seconds",), "IsInstance": ("type_name",),
}  # fmt: skip


PLAIN_TYPES = ("str", "dict", "list", "int", "float", "bool")
"""What an output can be an instance of without a program's own classes."""


def _check(name: str, given: JsonValue, expected: JsonValue) -> Json | None:
    options = obj(given)
    value = options.get("value", None if options else given)
    match name:
        case "EqualsExpected":
            return {"type": "equals", "value": expected}
        case "Equals" if value is not None:
            return {"type": "equals", "value": value}
        case "Contains" if isinstance(value, str):
            return {"type": "contains" if options.get("case_sensitive", True) else "icontains", "value": value}
        case "LLMJudge" if isinstance(rubric := options.get("rubric", given), str):
            return {"type": "llm-rubric", "value": rubric}
        case "IsInstance" if (named := options.get("type_name", given)) in PLAIN_TYPES:
            return {"type": "python", "value": f"isinstance(output, {named})"}
        case "MaxDuration" if isinstance(seconds := options.get("seconds", given), int | float):
            return {"type": "latency", "threshold": seconds * 1000}
        case _:
            return None


def read_strands(path: Path) -> Iterator[Item]:
    """A case for each, with the evaluators that mean something here; others make it a draft."""
    document = obj(whole_document(path))
    about = without(document, "cases", "name", "evaluators")
    kept = without(document, "cases", "name")
    yield EvaluationLog(STRANDS, path.stem, str(document.get("name") or path.stem), own_id=False, extra=kept)
    for place, case in enumerate(objects_under(document, "cases", str(path)), 1):
        where = f"{path}: cases.{place}"
        if case.get("input") in (None, ""):
            raise InvalidRecordError("a case has an input", field="input", where=where)
        expected = case.get("expected_output")
        read = Evaluators()
        for evaluator in objects_under(document, "evaluators", str(path)):
            read.add(evaluator, *_strands_check(evaluator, expected))
        wanted = texts(expected)
        plain: Json | None = {"output": wanted[0]} if len(wanted) == 1 else None
        beside_case = without(case, "input", "name", "expected_output")
        yield LogSample(
            id=case.get("name") or place, inputs=inputs_of(case["input"]), name=str(case.get("name") or ""),
            targets=wanted, expected=expected if isinstance(expected, dict) and expected else plain,
            assertions=tuple(read.checks), unread=read.not_carried_out,
            extra=without({**beside_case, "evaluators": read.kept or None, "suite": about or None}),
            where=where,
        )  # fmt: skip


def _strands_check(evaluator: Json, expected: JsonValue) -> tuple[str, Json | None, Json]:
    """As `_pydantic_check`: the evaluator's name, its check, and its options that nothing reads."""
    name, value = str(evaluator.get("evaluator_type") or evaluator.get("name") or "evaluator"), evaluator.get("value")
    exact = evaluator.get("case_sensitive") is not False
    read, check = ("value", "case_sensitive"), None
    match name:
        case "Equals" if (wanted := expected if value is None else value) is not None:
            check = {"type": "equals", "value": wanted}
        case "Contains" if isinstance(value, str) and value:
            check = {"type": "contains" if exact else "icontains", "value": value}
        case "StartsWith" if isinstance(value, str) and value and exact:
            check = {"type": "starts-with", "value": value}
        case "OutputEvaluator" if isinstance(rubric := evaluator.get("rubric"), str) and rubric:
            read, check = ("rubric", "include_inputs"), {"type": "llm-rubric", "value": rubric}
        case "ToolCalled" if isinstance(tool := evaluator.get("tool_name"), str) and not {*"*?[/"} & {*tool}:
            read, check = ("tool_name",), {"type": "trajectory:tool-used", "value": tool}
        case _:
            pass
    if check is None:
        return name, None, {}
    named = evaluator.get("name")
    wire: Json = {**check, **({"metric": named} if isinstance(named, str) and named else {})}
    return name, wire, without(evaluator, "evaluator_type", "name", *read)
