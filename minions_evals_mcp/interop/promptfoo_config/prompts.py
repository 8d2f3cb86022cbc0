"""The prompts of a config: texts, files, and lists of both."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest, text_digest
from minions_evals_mcp.engine.config_eval.evaluation import PromptCode
from minions_evals_mcp.errors import EvalsError, InvalidRecordError
from minions_evals_mcp.interop.promptfoo_config.source.code import (
    EXEC,
    SCRIPTS,
    code_file,
    command_words,
    folder_of,
    runs_module,
)
from minions_evals_mcp.interop.promptfoo_config.source.environment import with_environment
from minions_evals_mcp.interop.promptfoo_config.source.reading import (
    Node,
    named_file,
    named_files,
    read_lines,
    read_node,
    read_text,
)
from minions_evals_mcp.interop.promptfoo_config.source.references import with_included
from minions_evals_mcp.interop.promptfoo_config.source.refusal import NOTHING, Refusals
from minions_evals_mcp.interop.text_table import read_text_table
from minions_evals_mcp.scoring.nunjucks.templates import templates_in, vet_template
from minions_evals_mcp.scoring.values import js_json
from minions_evals_mcp.targets.code_files import files_digest, named_in

MOST_SHOWN = 102_400
_DELIMITER = re.compile(r"^[^\S\n]*---[^\S\n]*$", re.MULTILINE)
_PATH = re.compile(r"[\w./-]+")
DATA = frozenset({".json", ".yaml", ".yml"})
PLAIN = frozenset({".txt", ".md", ".j2", ".csv"})
NO_FILTERS: Mapping[str, Path] = {}
THERE = frozenset({"id", "label", "raw", "config", "display", "function", "template"})
"""What promptfoo reads of a prompt: without `raw` it takes the id for the text, so that any other key is refused here."""
PROGRAMS = frozenset({".sh", ".bash", ".exe", ".rb", ".pl"})
"""Programs that write a prompt to stdout."""
READ = PLAIN | {".json", ".jsonl", ".yaml", ".yml"}


@dataclass(frozen=True, slots=True)
class PromptText:
    """A template with the label under which it is shown; `id` is another name for it.

    Where code writes the prompts, `raw` is the code and `writer` says how it is called.
    """

    label: str
    raw: str
    id: str | None = None
    writer: PromptCode | None = None
    config: Json = field(default_factory=dict[str, JsonValue])
    """What the prompt asks of the model that it is put to."""


def read_prompts(
    node: Node,
    refusals: Refusals,
    filters: Mapping[str, Path] = NO_FILTERS,
    *,
    environment: Mapping[str, str] = NOTHING,
) -> list[PromptText]:
    """The prompts in order; one that could not be rendered is refused by name. `filters` are the config's own, by name."""
    prompts: list[PromptText] = []
    for source_node, prompt in (
        (at, _with_environment(at, _with_includes(at, prompt), environment, refusals))
        for at, prompt in _prompts(node, refusals)
    ):
        templates = templates_in(prompt.raw) if prompt.writer is None else []
        try:
            used = frozenset[str]().union(*(vet_template(template, frozenset(filters)) for template in templates))
        except EvalsError as error:
            refusals.add(source_node, f"{prompt.label[:60]!r}: {error.message_text}")
            continue
        prompts.append(_filtered(prompt, {name: filters[name] for name in sorted(used)}) if used else prompt)
    return prompts


def _with_includes(node: Node, prompt: PromptText) -> PromptText:
    """The prompt with the files that its templates include, in the config's folder, in their place."""
    if prompt.writer is not None or "include" not in prompt.raw:
        return prompt
    try:
        parsed: JsonValue = json.loads(prompt.raw)
    except ValueError:
        return replace(prompt, raw=with_included(node, prompt.raw))
    whole = _each_text(parsed, lambda text: with_included(node, text))
    return replace(prompt, raw=js_json(whole))


def _each_text(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    match value:
        case str():
            return change(value)
        case list():
            return [_each_text(item, change) for item in value]
        case dict():
            return {name: _each_text(item, change) for name, item in value.items()}
        case _:
            return value


def read_filters(node: Node | None, refusals: Refusals) -> dict[str, Path]:
    """The files of the config's own filters by name; the last that fits a pattern, as there."""
    if node is None:
        return {}
    named = {name: named_files(node, node.text())[-1] for name, node in node.mapping().items()}
    return {
        name: named_file(node, file)
        for name, file in named.items()
        if runs_module(node.child(name, file), file, refusals)
    }


def _filtered(prompt: PromptText, filters: Mapping[str, Path]) -> PromptText:
    """The prompt as one that code writes: whatever its filters are, it is another prompt when they change."""
    code = digest([prompt.raw, *(read_text(path) for path in filters.values())])
    files = {name: str(path) for name, path in filters.items()}
    writer = PromptCode(path="", function=None, code=code, filters=files, template=prompt.raw, config=prompt.config)
    return replace(prompt, writer=writer)


def _with_environment(node: Node, prompt: PromptText, environment: Mapping[str, str], refusals: Refusals) -> PromptText:
    """The prompt with what stands in its file filled in from the environment."""
    if prompt.writer is not None:
        return prompt
    return replace(prompt, raw=with_environment(replace(node, value=prompt.raw), environment, refusals).text())


def _prompts(node: Node, refusals: Refusals) -> Iterator[tuple[Node, PromptText]]:
    match node.value:
        case str():
            yield from ((node, text) for text in _named(node, node.value, None, refusals))
        case list():
            for element in node.elements():
                yield from _prompts_of(element, refusals)
        case dict():
            for key, label in node.mapping().items():
                yield from ((label, text) for text in _named(label, key, label.text(), refusals))
        case _:
            raise node.wrong("must be a prompt, a list of prompts, or a mapping from prompt to label")


def _prompts_of(node: Node, refusals: Refusals) -> Iterator[tuple[Node, PromptText]]:
    if isinstance(node.value, str):
        yield from ((node, text) for text in _named(node, node.value, None, refusals))
        return
    known = ("id", "label", "raw", "config")
    written = node.mapping()
    if "raw" not in written and "id" in written:
        for name in written.keys() - {*known}:
            refusals.add(
                written.pop(name), f"without raw promptfoo asks the id itself; write raw: {written['id'].value}"
            )
    members = refusals.known(
        replace(node, value={name: one.value for name, one in written.items()}), known, there=THERE
    )
    raw = members.get("raw") or members.get("id")
    if raw is None:
        raise node.wrong("must have the prompt under raw, or a file under id")
    label = members["label"].text() if "label" in members else None
    ident = members["id"].text() if "id" in members else None
    for text in _named(raw, raw.text(), label, refusals):
        yield node, _configured(replace(text, id=ident), members.get("config"))


def _configured(prompt: PromptText, config: Node | None) -> PromptText:
    """The prompt with what its code, or its model, is told beside the variables."""
    if config is None:
        return prompt
    settings = {key: node.value for key, node in config.mapping().items()}
    if prompt.writer is None:
        return replace(prompt, config=settings)
    return replace(prompt, writer=prompt.writer.model_copy(update={"config": settings}))


def _named(node: Node, text: str, label: str | None, refusals: Refusals) -> Iterator[PromptText]:
    """The prompts that a text stands for: those in the file that it names, else itself."""
    if text.startswith(EXEC):
        yield _by_program(node, text.removeprefix(EXEC), label or text)
        return
    name = text.removeprefix("file://")
    if name == text and not _is_file(node, text):
        if not text.strip():
            raise node.wrong("a prompt must say something")
        yield PromptText(label or text, text)
        return
    code = code_file(name)
    if code is not None:
        yield from _by_code(node, *code, label or name, refusals)
        return
    if Path(name).suffix.lower() in PROGRAMS:
        yield from _by_code(node, name, None, label or name, refusals)
        return
    for file_name in named_files(node, name):
        path = named_file(node, file_name) if Path(file_name).suffix.lower() in READ else None
        if path is None:
            refusals.add(node, f"a prompt in a {Path(file_name).suffix or 'nameless'} file")
            continue
        if path.suffix.lower() == ".csv":
            yield from _in_csv(path, label)
            continue
        raws = list(_in_file(path, node.source.base))
        for number, raw in enumerate(raws, 1):
            shown = label or file_name
            yield PromptText(shown if len(raws) == 1 else f"{shown} #{number}", raw)


def _in_csv(path: Path, label: str | None) -> Iterator[PromptText]:
    """The prompts in the column `prompt`, named by the column `label`; where the first line names no column, one a line."""
    text = read_text(path)
    is_table = any(mark in text.partition("\n")[0] for mark in ",;\t")
    if is_table:
        rows = [row.cells for row in read_text_table(path, trims_left=True)]
    else:
        lines = [line for line in text.splitlines() if line.strip()]
        rows = [{"prompt": line} for line in lines if line is not lines[0] or line.strip().lower() != "prompt"]
    rows = [row for row in rows if row.get("prompt", "").strip()]
    for number, row in enumerate(rows, 1):
        raw = row["prompt"].strip() if is_table else row["prompt"]
        several = f"{label}: {raw}" if len(rows) > 1 else label
        yield PromptText(row.get("label", "").strip() or (several if label else f"Prompt {number} - {raw}") or raw, raw)


def _by_code(node: Node, pattern: str, function: str | None, label: str, refusals: Refusals) -> Iterator[PromptText]:
    if Path(pattern).suffix.lower() in SCRIPTS and not runs_module(node, pattern, refusals):
        return
    files = named_files(node, pattern)
    for file in files:
        path = named_file(node, file)
        raw = read_text(path)
        if not raw.strip():
            raise node.wrong(f"there is nothing in {file}")
        writer = PromptCode(path=str(path), function=function, code=files_digest([path], node.source.base.resolve()))
        yield PromptText(label if len(files) == 1 else f"{label} {file}", raw, writer=writer)


def _by_program(node: Node, command: str, label: str) -> PromptText:
    """The prompt that a program writes: the text of its file, where that can be read, is what the prompt is known by."""
    words = command_words(node, command)
    path = node.source.base / words[0]
    raw = read_text(path) if path.is_file() and path.stat().st_size < MOST_SHOWN else command
    if path.is_file():
        words = (str(path.resolve()), *words[1:])
    folder = node.source.base.resolve()
    digest_of = files_digest(named_in(words, folder), folder) or text_digest(raw)
    writer = PromptCode(path=words[0], function=None, code=digest_of, arguments=words[1:], folder=folder_of(node))
    return PromptText(label, raw, writer=writer)


def _is_file(node: Node, text: str) -> bool:
    """Returns whether a text that does not say so names files of prompts; refuses the path of one that is not there."""
    name, _ = code_file(text) or (text, None)
    if "\n" in text or len(text) >= 500 or Path(name).suffix.lower() not in READ | SCRIPTS | {".py"}:
        return False
    try:
        return bool(named_files(node, name))
    except InvalidRecordError:
        if _PATH.fullmatch(name):
            raise
        return False


def _in_file(path: Path, base: Path) -> Iterator[str]:
    """The prompts in a file: in a .txt those between lines of three hyphens, in JSON lines one a line."""
    match path.suffix.lower():
        case ".txt":
            parts = _DELIMITER.split(read_text(path).replace("\r\n", "\n"))
            yield from (part.strip() for part in parts if part.strip())
        case ".jsonl":
            yield from (line.source.text.rstrip("\r") for line in read_lines(path, base))
        case ".yaml" | ".yml" | ".json":
            yield _structured(path, base)
        case _:
            yield read_text(path)


def _structured(path: Path, base: Path) -> str:
    """The prompt in a file of YAML or JSON, with the files in it read; one that is neither is a template as it stands."""
    try:
        return js_json(_with_files(read_node(path, base)))
    except EvalsError:
        return read_text(path)


def _with_files(node: Node) -> JsonValue:
    match node.value:
        case str() if node.file is not None:
            path = named_file(node, node.file)
            return read_node(path, node.source.base).value if path.suffix.lower() in DATA else read_text(path)
        case list():
            return [_with_files(element) for element in node.elements()]
        case dict():
            return {name: _with_files(member) for name, member in node.mapping().items()}
        case _:
            return node.value
