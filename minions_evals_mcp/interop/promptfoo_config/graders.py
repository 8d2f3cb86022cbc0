"""The graders of a config's assertions, and in which words: an assertion's own `provider` and `rubricPrompt`, else the test's.

Where promptfoo 0.121.20 and we differ: `--judge-model` (its `--grader`) comes before all that the config says, and
`--embedder` likewise; there `--grader` stands in for the `provider` of `defaultTest` only. A provider of texts under a
test's `options` does not concern `similar`; there it fails it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Grader
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.providers import LIMITS, PROVIDERS
from minions_evals_mcp.embedding.local import WORDLLAMA
from minions_evals_mcp.engine.config_eval.evaluation import ModelSpec
from minions_evals_mcp.interop.promptfoo_config.providers.listed import CodeSpec, code_spec, is_code
from minions_evals_mcp.interop.promptfoo_config.providers.models import ACCESS, model_spec, service_spec
from minions_evals_mcp.interop.promptfoo_config.source.reading import YAML, Node, named_file, read_node, read_text
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals
from minions_evals_mcp.interop.promptfoo_config.tests import Test
from minions_evals_mcp.models.service_table import DEFAULT_MODERATION, service_of
from minions_evals_mcp.scoring.assertions.judges import TOLD
from minions_evals_mcp.scoring.assertions.kinds.graded import ALIASES, FACTUALITY, GRADED
from minions_evals_mcp.scoring.assertions.kinds.services import BY_SERVICE
from minions_evals_mcp.scoring.assertions.kinds.similar import SIMILAR
from minions_evals_mcp.scoring.max_score import SELECT_BEST
from minions_evals_mcp.scoring.prompt_texts.code_judges import TEMPLATES

BY_CODE = TEMPLATES.keys() | ALIASES.keys()
"""Types that code may decide in a model's place."""
Kind = Literal["text", "embedding", "moderation", "classification"]
WANTED: Mapping[Kind, str] = {
    "text": "a model that is told what to do",
    "embedding": "an embedder: openai:embedding:MODEL",
    "moderation": "what moderates: openai:moderation:MODEL, replicate:moderation:MODEL",
    "classification": "what classifies: huggingface:text-classification:MODEL, huggingface:token-classification:MODEL",
}
CODE = frozenset({".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".py"})
KEY = "apiKey"
MEASURED_THERE = "as in promptfoo: OPENAI_API_KEY is set; the embedder wordllama measures on this machine"
MEASURED_HERE = (
    "similar is measured by wordllama on this machine: promptfoo asks openai:text-embedding-3-large, and has other scores;"
    " the embedder openai:text-embedding-3-large, or a provider beside the check, does so here"
)
NO_EMBEDDER = "similar is not measured by options.provider, a model of texts; promptfoo ends such a test in an error"
EMBEDDINGS = {theirs: f"{row.name}:" for row in PROVIDERS.values() for theirs in row.embedders_known_as}
"""Embedders among promptfoo's providers, and their providers in our words."""


@dataclass(slots=True, eq=False)
class Graders:
    """Reads the graders of one config. `specs` are those that only it can open, by `Grader.name`.

    `shared` is the model that all tests name alike, which is the run's judge; with `judge_given` or `embedder_given` the
    config is not asked who judges, or who measures likeness. `has_judge`: a model judges where the config names none;
    `embedder` measures likeness there, None: the one that the user chose.
    """

    refusals: Refusals
    shared: str | None = None
    judge_given: bool = False
    embedder_given: bool = False
    has_judge: bool = True
    embedder: str | None = None
    specs: dict[str, ModelSpec | CodeSpec] = field(default_factory=dict[str, "ModelSpec | CodeSpec"])

    def own(self, kind: str, members: Mapping[str, Node], options: Mapping[str, Node]) -> dict[str, JsonValue]:
        """Returns what the assertion of that type says of its judge, or takes over from its test's options, as it is kept."""
        settings: dict[str, JsonValue] = {}
        grader = self._grader(kind, members, options)
        if grader is not None and grader.code is not None and kind not in BY_CODE:
            self.refusals.add(members.get("provider") or options["provider"], f"code as the judge of {kind}")
        elif grader is not None:
            settings["provider"] = grader.model_dump(mode="json")
        if ALIASES.get(kind, kind) == FACTUALITY:  # an assertion's own config weighs nothing there
            settings["config"] = options["factuality"].value if "factuality" in options else None
        words = members.get("rubricPrompt") or (options.get("rubricPrompt") if kind in GRADED | {SELECT_BEST} else None)
        if words is not None and kind in GRADED - TOLD:
            self.refusals.add(words, f"your own prompt for {kind}, which has several questions")
            return settings
        if words is not None and words.value and (template := self._words(words)):
            settings["rubricPrompt"] = template
        return settings

    def lacks_judge(self, kind: str, made: Mapping[str, JsonValue]) -> bool:
        """Returns whether a model would have to decide that check, and nobody says which."""
        return kind in GRADED | {SELECT_BEST} and "provider" not in made and not self.has_judge and self.shared is None

    def _grader(self, kind: str, members: Mapping[str, Node], options: Mapping[str, Node]) -> Grader | None:
        asks = _asked_by(kind)
        if (asks == "embedding" and self.embedder_given) or (asks == "text" and self.judge_given):
            return None
        if "provider" in members and (own := _of_kind(members["provider"], asks)) is not None:
            return self._read(own, asks)
        shared = self._shared(kind, asks, options)
        return self._default_embedder() if shared is None and asks == "embedding" else shared

    def _shared(self, kind: str, asks: Kind, options: Mapping[str, Node]) -> Grader | None:
        """The grader that the options of the test name for that type."""
        shared = options.get("provider")
        if (
            kind in SIMILAR
            and shared is not None
            and (named := _of_kind(shared, asks))
            and _stands_for(named) == "text"
        ):
            self.refusals.remark(NO_EMBEDDER)
        if shared is None or self.shared is not None or kind not in GRADED | {SELECT_BEST, *SIMILAR, *BY_SERVICE}:
            return None
        chosen = _of_kind(shared, asks)
        return None if chosen is None or _stands_for(chosen) != asks else self._read(chosen, asks)

    def _default_embedder(self) -> Grader | None:
        """Returns what measures likeness where nothing is named: promptfoo's model where its key is there; which it is, is said."""
        if self.embedder is None:
            return None
        here = self.embedder == WORDLLAMA
        self.refusals.remark(MEASURED_HERE if here else f"similar is measured by {self.embedder}, {MEASURED_THERE}")
        return None if here else Grader(model=self.embedder)

    def vet(self, options: Mapping[str, Node]) -> None:
        """Refuses what a test's options name that is carried out as no judge of any kind, whether it is asked or not."""
        node = options.get("provider")
        if node is None or self.shared is not None:
            return
        if _parts(node)[0] is None and isinstance(node.value, dict) and not node.value.keys() & {*WANTED}:
            self.refusals.note(node, "it names no provider, so that it is one only to a check that a model would grade")
            return
        for asks in WANTED:
            chosen = _of_kind(node, asks)
            if chosen is not None and _stands_for(chosen) == asks:
                self._read(chosen, asks)

    def _read(self, node: Node, asks: Kind) -> Grader | None:
        ident, config = _parts(node)
        if ident is None:
            self.refusals.add(node, "only a model's id, or {id, config}, is supported as a judge")
            return None
        if _stands_for(node) != asks:
            self.refusals.add(node, f"the provider {ident}; wanted is {WANTED[asks]}")
            return None
        if is_code(ident):
            return self._by_code(node, ident, config)
        spec = self._spec(node, ident, config, asks)
        return None if spec is None else self._add(node, config, spec)

    def _by_code(self, node: Node, ident: str, config: Node) -> Grader | None:
        """Returns what answers in a model's place; wherever its file lies, the same code is the same judge."""
        before = len(self.refusals)
        spec = code_spec(node, ident, config, self.refusals)
        if spec is None or len(self.refusals) > before:
            return None
        grader = Grader(model=ident, code=digest(spec.model_dump(mode="json", exclude={"path"}))[:16])
        self.specs.setdefault(grader.name, spec)
        return grader

    def _spec(self, node: Node, ident: str, config: Node, asks: Kind) -> ModelSpec | None:
        service = service_of(ident)
        if service is not None:
            return service_spec(ident, service, config, self.refusals)
        if asks == "embedding":
            ident = next(own + ident.removeprefix(text) for text, own in EMBEDDINGS.items() if ident.startswith(text))
            self.refusals.known(config, ACCESS)
        return model_spec(node, ident, config, self.refusals, grades=True)

    def _add(self, node: Node, config: Node, spec: ModelSpec) -> Grader:
        limited = any(name in config.mapping() for name in LIMITS)
        grader = Grader(
            model=spec.model,
            max_tokens=spec.max_tokens if limited else None,
            params=spec.params,
            base_url=spec.base_url,
            own_key=spec.api_key is not None,
        )
        if grader.needs_config:
            known = self.specs.setdefault(grader.name, spec)
            if isinstance(known, ModelSpec) and known.api_key != spec.api_key:
                raise node.wrong("the same model is named with another key before")
        return grader

    def _words(self, node: Node) -> str:
        """The template, its file read; messages written as YAML become JSON."""
        if node.file is None:
            return node.value if isinstance(node.value, str) else self._messages(node, node.value)
        if Path(node.file).suffix.lower() in CODE:
            self.refusals.add(node, "a rubricPrompt that code writes")
            return ""
        path = named_file(node, node.file)
        if path.suffix.lower() in YAML:
            words = read_node(path, node.source.base).value
            return words if isinstance(words, str) else self._messages(node, words)
        return read_text(path)

    def _messages(self, node: Node, value: JsonValue) -> str:
        if not isinstance(value, list) or not all(
            isinstance(message, dict) and {*message} == {"role", "content"} for message in value
        ):
            self.refusals.add(node, "only a text, or messages of {role, content}, are carried out")
            return ""
        return json.dumps(value, ensure_ascii=False)


def read_graders(
    tests: Sequence[Test],
    refusals: Refusals,
    *,
    judge_given: bool = False,
    embedder_given: bool = False,
    has_judge: bool = True,
    embedder: str | None = None,
) -> Graders:
    """The reader of a config's graders, with the model that all its tests share."""
    return Graders(refusals, shared_judge(tests, refusals), judge_given, embedder_given, has_judge, embedder)


def shared_judge(tests: Sequence[Test], refusals: Refusals) -> str | None:
    """The model that all tests name alike under `options.provider`, in our words; None where they do not, or say more."""
    providers = [test.options.get("provider") for test in tests]
    first = providers[0]
    if first is None or any((node and node.value) != first.value for node in providers):
        return None
    ident, config = _parts(first)
    if ident is None or not isinstance(first.value, str) or is_code(ident) or _stands_for(first) != "text":
        return None
    spec = model_spec(first, ident, config, refusals, grades=True)
    return None if spec is None else spec.model


def without_keys(value: JsonValue) -> JsonValue:
    """The value without what stands under any `config.apiKey` in it: files of results tell no keys."""
    match value:
        case list():
            return [without_keys(item) for item in value]
        case dict():
            return {name: without_keys(_keyless(item) if name == "config" else item) for name, item in value.items()}
        case _:
            return value


def _keyless(config: JsonValue) -> JsonValue:
    return {name: item for name, item in config.items() if name != KEY} if isinstance(config, dict) else config


def _asked_by(kind: str) -> Kind:
    """Returns what an assertion of that type asks its provider for."""
    service = BY_SERVICE.get(kind)
    if service is not None and service != "webhook":
        return service
    return "embedding" if kind in SIMILAR else "text"


def _of_kind(node: Node, asks: Kind) -> Node | None:
    """Returns what stands for that kind in {text: …, embedding: …, …}; any other provider is for all."""
    if isinstance(node.value, dict) and "id" not in node.value and {*WANTED} & {*node.value}:
        return node.mapping().get(asks)
    return node


def _stands_for(node: Node) -> Kind:
    """Returns what the provider can be asked for."""
    ident, _ = _parts(node)
    service = None if ident is None else service_of(ident)
    if service is not None:
        return service.decides
    return "embedding" if ident is not None and ident.startswith(tuple(EMBEDDINGS)) else "text"


def _parts(node: Node) -> tuple[str | None, Node]:
    """A provider's id and how it is set up; no id for what is neither a text nor {id, config}."""
    nothing = node.child("config", {})
    match node.value:
        case str(ident):
            return _in_full(ident), nothing
        case {"id": str(ident), **rest} if {*rest} <= {"config", "label"}:
            return _in_full(ident), node.mapping().get("config", nothing)
        case _:
            return None, nothing


def _in_full(ident: str) -> str:
    """The id without what it leaves out."""
    if ident == "openai:moderation":
        return DEFAULT_MODERATION["openai"]
    return f"huggingface:{ident.removeprefix('hf:')}" if ident.startswith("hf:") else ident
