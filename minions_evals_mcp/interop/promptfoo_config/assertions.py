"""Assertions of a config: templates filled with the test's variables, files read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import to_json

from minions_evals_mcp.domain.assertions import NEGATION, SET, Assertion
from minions_evals_mcp.domain.outputs import json_texts
from minions_evals_mcp.engine.config_eval.evaluation import Chooser, SelectBest
from minions_evals_mcp.errors import InvalidRecordError, UnsupportedError
from minions_evals_mcp.interop.promptfoo_config.graders import Graders
from minions_evals_mcp.interop.promptfoo_config.shorthand import FOREIGN
from minions_evals_mcp.interop.promptfoo_config.source import keys_there
from minions_evals_mcp.interop.promptfoo_config.source.code import SCRIPTS, code_file
from minions_evals_mcp.interop.promptfoo_config.source.reading import YAML, Node, named_file, read_node, read_text
from minions_evals_mcp.interop.promptfoo_config.source.references import with_included
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals
from minions_evals_mcp.interop.promptfoo_config.source.snippets import javascript_code, python_code, transform_code
from minions_evals_mcp.scoring.assertions.judges import vet_own
from minions_evals_mcp.scoring.assertions.kinds.code_context import CODE
from minions_evals_mcp.scoring.assertions.kinds.meteor import METEOR, WEIGHTS
from minions_evals_mcp.scoring.assertions.kinds.services import BY_SERVICE, UNNAMED
from minions_evals_mcp.scoring.assertions.kinds.similar import SIMILAR
from minions_evals_mcp.scoring.assertions.kinds.snippets import PYTHON
from minions_evals_mcp.scoring.assertions.table import NAMES, vet
from minions_evals_mcp.scoring.max_score import MAX_SCORE, SELECT_BEST, max_score_of
from minions_evals_mcp.scoring.nunjucks.templates import rendered, rendered_with_prints
from minions_evals_mcp.targets.prompted import PythonTransform

KEYS = ("type", "value", "threshold", "weight", "metric", "transform", "assert", "provider", "rubricPrompt", "config",
        "contextTransform")  # fmt: skip
HARMLESS = {
    "reason": "an assertion's reason is its verdict's",
    "description": "it bears on no verdict",
    "id": "it bears on no verdict",
}
CHECKED = "output, context"
"""What a file's function is called with by a check."""
TOLD_CONFIG = ("python", "javascript", METEOR)
GIVEN_CONFIG = "only code is told a config"
QUOTING = frozenset({"llm-rubric", SELECT_BEST})
"""The types whose value a judge reads as its author's words."""
OWN = ("provider", "rubricPrompt")
TRANSFORMS = frozenset({"transform", "contextTransform"})
REF = "#/assertionTemplates/"
PLACES = re.compile(r"\{[{%][^{}%]*?([A-Za-z_]\w*)")
_ASSERTION: TypeAdapter[Assertion] = TypeAdapter(Assertion)


@dataclass(frozen=True, slots=True)
class TestChecks:
    """A test's demands on its outputs: what each must hold, and how one is chosen among them."""

    assertions: tuple[Assertion, ...]
    choosers: tuple[Chooser, ...]


@dataclass(frozen=True, slots=True)
class Assertions:
    """Reads assertions of one config. `templates` are those that a `$ref` may name; `options` are those of the test."""

    templates: Mapping[str, Node]
    refusals: Refusals
    graders: Graders
    options: Mapping[str, Node] = field(default_factory=dict[str, Node])
    stored: frozenset[str] = frozenset()
    """The names under which tests store their outputs: no assertion is filled with them."""

    def checks(self, nodes: list[Node], variables: Mapping[str, JsonValue]) -> TestChecks:
        """The checks of a test with those variables; what is not supported is refused, and left out."""
        assertions: list[Assertion] = []
        choosers: list[Chooser] = []
        for node in nodes:
            assertion = self._assertion(self.resolved(node), variables)
            if assertion is None:
                continue
            if assertion.base_type not in {MAX_SCORE, SELECT_BEST}:
                assertions.append(assertion)
            elif (chooser := self._chooser(node, assertion)) is not None:
                choosers.append(chooser)
        return TestChecks(tuple(assertions), tuple(choosers))

    def resolved(self, node: Node) -> Node:
        """The assertion, or the template that a `$ref` in its place names."""
        if not isinstance(node.value, dict) or "$ref" not in node.value:
            return node
        name = str(node.value["$ref"])
        if not name.startswith(REF) or name.removeprefix(REF) not in self.templates:
            raise node.wrong(f"there is no assertion template {name!r}; they are named {REF}NAME")
        template = self.templates[name.removeprefix(REF)]
        own = {key: value for key, value in node.value.items() if key != "$ref"}
        return replace(template, value={**{key: member.value for key, member in template.mapping().items()}, **own})

    def _assertion(self, node: Node, variables: Mapping[str, JsonValue], *, top: bool = True) -> Assertion | None:
        wire = _with_weights(self._noted(node), node)
        refused = len(self.refusals)
        for key in wire.keys() - {*KEYS}:
            self.refusals.strange(wire.pop(key), wanted=KEYS, there=keys_there.ASSERTION)
        if len(self.refusals) > refused:
            return None
        kind = wire["type"].text() if "type" in wire else ""
        made: dict[str, JsonValue] = {
            key: node.value for key, node in wire.items() if node.value is not None and key not in OWN
        }
        before = len(self.refusals)
        made |= self.graders.own(kind.removeprefix(NEGATION), wire, self.options)
        if self._lacks_judge(node, kind, made, refused=len(self.refusals) > before):
            return None
        if "value" in wire and (code := self._value_code(wire["value"], kind)) is not None:
            made |= {"value": None, "value_code": code}
        elif "value" in wire:
            made["value"] = self._value(wire["value"], kind, variables, wire.get("config"))
            made |= self._quoted(wire["value"], kind, variables)
        elif "config" in wire:
            self.refusals.note(wire["config"], GIVEN_CONFIG)
        if isinstance(made.get("metric"), str):
            made["metric"] = self._rendered(wire["metric"], variables)
        made |= {name: self._transform(wire[name]) for name in TRANSFORMS & made.keys()}
        if kind == SET and "assert" in wire:
            parts = wire["assert"].elements()
            made["assert"] = self._parts(parts, variables)
            if parts and not made["assert"]:
                return None  # all of it is left out
        return self._vetted(node, made, top=top)

    def _lacks_judge(self, node: Node, kind: str, made: Mapping[str, JsonValue], *, refused: bool) -> bool:
        base = kind.removeprefix(NEGATION)
        if base in BY_SERVICE:
            return refused  # no other service stands in for the one that is refused
        if not self.graders.lacks_judge(base, made):
            return False
        self.refusals.add_ungraded(node, kind)
        return True

    def _parts(self, nodes: Iterable[Node], variables: Mapping[str, JsonValue]) -> list[JsonValue]:
        parts = (self._assertion(self.resolved(node), variables, top=False) for node in nodes)
        return [assertion.model_dump(mode="json") for assertion in parts if assertion is not None]

    def _noted(self, node: Node) -> dict[str, Node]:
        """The assertion's parts without those that change nothing, each noted."""
        members = node.mapping()
        for key in HARMLESS.keys() & members.keys():
            self.refusals.note(members.pop(key), HARMLESS[key])
        return members

    def _vetted(self, node: Node, made: dict[str, JsonValue], *, top: bool) -> Assertion | None:
        try:
            assertion = _ASSERTION.validate_json(to_json(made))
            _vet(assertion, top=top)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise node.wrong(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        except UnsupportedError as error:
            foreign = str(made.get("type")).removeprefix(NEGATION) in FOREIGN
            self.refusals.add(node, f"the assertion type {made['type']!r}" if foreign else error.message_text)
            return None
        except InvalidRecordError as error:
            if made.get("value") == "" and (written := node.mapping()["value"]).value:
                self.refusals.add(written, f"{made.get('type')}: {written.value} comes out empty in this test")
                return None
            raise InvalidRecordError(
                f"{made.get('type')}: {error.field}: {error.reason}", field=node.name, where=node.at
            ) from None
        return assertion

    def _value(
        self, node: Node, kind: str, variables: Mapping[str, JsonValue], config: Node | None = None
    ) -> JsonValue:
        """The value with its file read, or its strings rendered; code in a file is told the config in its context."""
        base = kind.removeprefix(NEGATION)
        if config is not None and base == "guardrails" and config.value == {"purpose": "redteam"}:
            self.refusals.add(config, "in red-teaming a guardrail that acts passes the whole test")
        elif config is not None and base not in TOLD_CONFIG:
            self.refusals.note(config, GIVEN_CONFIG)
        if node.file is not None:
            return _from_file(node, node.file, base, trusted=self.refusals.trust_code)
        match node.value:
            case str():
                return self._rendered(node, variables)
            case list():
                return [
                    (
                        _from_file(node, node.file, "", trusted=False)
                        if node.file is not None
                        else self._rendered(node, variables)
                    )
                    if isinstance(node.value, str)
                    else node.value
                    for node in node.elements()
                ]
            case _:
                return node.value

    def _value_code(self, node: Node, kind: str) -> JsonValue:
        """The code in the file that gives the value for each output; None where the value is another, or code decides."""
        base = kind.removeprefix(NEGATION)
        named = None if node.file is None or base in CODE else code_file(node.file)
        if named is None:
            return None
        if base in {MAX_SCORE, SELECT_BEST, SET, *SIMILAR, *BY_SERVICE}:
            raise node.wrong(f"{base} takes no value from code")
        path, function = named_file(node, named[0]), named[1] or ""
        if path.suffix == ".py":
            return {"language": "python", "code": python_code(read_text(path), function or "get_assert", CHECKED)}
        code = javascript_code(node, path, function, CHECKED, trusted=self.refusals.trust_code)
        return {"language": "javascript", "code": code}

    def _transform(self, node: Node) -> JsonValue:
        """The code that makes what is checked."""
        code = transform_code(node, self.refusals)
        return PYTHON + code.code if isinstance(code, PythonTransform) else code

    def _rendered(self, node: Node, variables: Mapping[str, JsonValue]) -> JsonValue:
        if self.stored and self.stored & {*PLACES.findall(node.text())} - variables.keys():
            self.refusals.add(node, "the output of another test in an assertion")
        try:
            return rendered(with_included(node, node.text()), variables, prompt=False)
        except UnsupportedError as error:
            self.refusals.add(node, error.message_text)
            return node.value

    def _quoted(self, node: Node, kind: str, variables: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """The texts that a filter or a computation puts into a judge's words; a variable as it stands is known by itself."""
        if kind.removeprefix(NEGATION) not in QUOTING or not isinstance(node.value, str) or node.file is not None:
            return {}
        try:
            _, printed = rendered_with_prints(with_included(node, node.text()), variables, prompt=False)
        except UnsupportedError:
            return {}  # refused where the value is read
        known = {*json_texts(dict(variables))}
        texts: list[JsonValue] = [*dict.fromkeys(text for text in printed if text.strip() and text not in known)]
        return {"quoted": texts} if texts else {}

    def _chooser(self, node: Node, assertion: Assertion) -> Chooser | None:
        if assertion.type == MAX_SCORE:
            try:
                chooser = max_score_of(assertion)
            except InvalidRecordError as error:
                raise InvalidRecordError(error.reason, field=f"{node.name}.{error.field}", where=node.at) from None
            for name in chooser.weights:
                if name.removeprefix(NEGATION) not in NAMES:
                    near = get_close_matches(name, NAMES, n=1)
                    hint = f"; did you mean {near[0]!r}?" if near else ""
                    raise node.wrong(f"value.weights: {name!r} is no assertion type{hint}")
            return chooser
        if not isinstance(assertion.value, str) or not assertion.value.strip():
            raise node.wrong("select-best needs the criterion as its value")
        return SelectBest(
            criterion=assertion.value, grader=assertion.provider, rubric_prompt=assertion.rubric_prompt,
            quoted=assertion.quoted,
        )  # fmt: skip


def _with_weights(wire: dict[str, Node], node: Node) -> dict[str, Node]:
    """The parts of an assertion; of `meteor` with what it weighs by in its `config`, where ours has it."""
    if "type" not in wire or str(wire["type"].value).removeprefix(NEGATION) != METEOR:
        return wire
    weights: JsonValue = {name: wire.pop(name).value for name in WEIGHTS if name in wire}
    return {**wire, "config": node.child("config", weights)} if weights else wire


def _vet(assertion: Assertion, *, top: bool) -> None:
    if top and assertion.type in {MAX_SCORE, SELECT_BEST}:
        vet_own(assertion)
        return
    vet(assertion, of_config=True)
    if assertion.base_type == "classifier" and assertion.provider is None:
        raise InvalidRecordError(UNNAMED, field="provider")


def _from_file(node: Node, name: str, kind: str, *, trusted: bool) -> JsonValue:
    """Returns what stands in the file: code for `python` and `javascript`, called where it is a module's, else a value or a text."""
    plain, _, function = name.partition(":")
    path = named_file(node, plain)
    suffix = path.suffix.lower()
    if kind == "python" and suffix == ".py":
        return python_code(read_text(path), function or "get_assert", CHECKED)
    if kind == "javascript" and suffix in SCRIPTS:
        return javascript_code(node, path, function, CHECKED, trusted=trusted)
    if suffix in YAML | {".json"}:
        return read_node(path, node.source.base).value
    return read_text(path).strip()
