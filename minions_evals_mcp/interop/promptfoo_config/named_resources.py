"""Programs, code, addresses, variables and outside paths that a config names: found in its text, before any of it is read further.

The search errs on the side of asking. It follows the data files that the config names, and looks at every text in them.
"""

from __future__ import annotations

import csv
import glob
import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from minions_evals_mcp import bounded_files
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.interop.promptfoo_config.source.agent_ids import agent_of
from minions_evals_mcp.interop.promptfoo_config.source.environment import own_variables
from minions_evals_mcp.interop.promptfoo_config.source.reading import Node, SourceFile, read_node
from minions_evals_mcp.interop.reached_resources import NamedResources, resolved_command

CODE = frozenset(
    {".py", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".sh", ".bash", ".exe", ".rb", ".pl", ".go", ".php"}
)
DOCUMENTS = frozenset({".yaml", ".yml", ".json"})
TEXTS = frozenset({".txt", ".md", ".jsonl", ".csv", ".j2", ".njk"})
ADDRESS_KEYS = frozenset({"url", "apibaseurl", "apihost", "apiendpoint", "baseurl", "host", "endpoint"})
PLACES = frozenset({"working_dir", "settings"})
"""Keys under which a coding agent's folder or file stands."""
MAX_FILES = 2000
MAX_NAME = 500
MAX_BYTES = 20_000_000
_FILE = re.compile(r"file://([^\s\"'`<>|]+)")
_INCLUDE = re.compile(r"\{%-?\s*(?:include|import|from|extends)\s+[\"']([^\"']+)")
_VARIABLE = re.compile(r"""\benv\.(\w+)|\benv\[['"]([^'"]+)['"]\]""")
_WHOLE_ENVIRONMENT = re.compile(r"\{[{%][^{}]*\benv\b(?!\s*[.\[]|\w)")
_OWN = re.compile(r"\{\{\s*env\.(\w+)\s*\}\}")
_HOST = re.compile(r"^host:\s*(\S+)", re.IGNORECASE | re.MULTILINE)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
EVERY_VARIABLE = "the whole environment"


def named_resources(path: Path) -> NamedResources:
    """What a promptfoo config names, in all files of data that it is made of. Runs nothing."""
    search = _Search(path.resolve().parent)
    search.file(path.resolve())
    return search.found()


@dataclass(slots=True)
class _Search:
    base: Path
    own: dict[str, str] = field(default_factory=dict[str, str])
    seen: set[Path] = field(default_factory=set[Path])
    commands: set[str] = field(default_factory=set[str])
    code: set[str] = field(default_factory=set[str])
    addresses: set[str] = field(default_factory=set[str])
    variables: set[str] = field(default_factory=set[str])
    paths: set[str] = field(default_factory=set[str])

    def found(self) -> NamedResources:
        kinds = (self.commands, self.code, self.addresses, self.variables - self.own.keys(), self.paths)
        return NamedResources(*(tuple(sorted(kind)) for kind in kinds))

    def file(self, path: Path) -> None:
        """Looks into a file of data; code is named, not looked into."""
        if path in self.seen or not path.is_file():
            return
        self.seen.add(path)
        if len(self.seen) > MAX_FILES or path.stat().st_size > MAX_BYTES:
            self.paths.add(f"{path} (not looked into: it is too large)")
            return
        if path.suffix.lower() in DOCUMENTS:
            try:
                node = read_node(path, self.base)
            except EvalsError:
                pass  # a template; if it is a config that does not fit, its reader says so
            else:
                self.own |= own_variables(node)
                self.value(node)
                return
        try:
            text = bounded_files.read_text(path)
        except (OSError, UnicodeDecodeError):
            return
        cells = (
            (cell for row in csv.reader(io.StringIO(text)) for cell in row)
            if path.suffix.lower() == ".csv"
            else (text,)
        )
        source = SourceFile(path, text, self.base)
        for cell in cells:
            self.text(Node(cell, source))

    def value(self, node: Node) -> None:
        match node.value:
            case str():
                self.text(node)
            case list():
                for element in node.elements():
                    self.value(element)
            case dict():
                self._agents(node.value)
                for name, member in node.mapping().items():
                    self.text(node.child("", name))
                    self.value(member)
            case _:
                pass

    def text(self, node: Node) -> None:
        text = _OWN.sub(lambda place: self.own.get(place[1], place[0]), str(node.value))
        key = str(node.steps[-1]).lower() if node.steps else ""
        in_variables = "vars" in node.steps
        self.variables.update(plain or quoted for plain, quoted in _VARIABLE.findall(text))
        if _WHOLE_ENVIRONMENT.search(text):
            self.variables.add(EVERY_VARIABLE)
        if key == "apikeyenvar":
            self.variables.add(text)
        if key != "id" and (program := agent_of(text)):  # one with an id is named with its config
            self.commands.add(resolved_command([program], self.base))
        if key in PLACES and not (self.base / text).resolve().is_relative_to(self.base):
            self.paths.add(str((self.base / text).resolve()))
        if text.startswith("exec:"):
            self._command(text.removeprefix("exec:"))
        elif "outputPath" in node.steps:
            written = (self.base / text).resolve()
            self.paths.update(() if written.is_relative_to(self.base) else (str(written),))
        elif not in_variables and (key in ADDRESS_KEYS or (_ADDRESS.fullmatch(text) and not text.startswith("file:"))):
            self.addresses.add(text)
        elif key == "request":
            self.addresses.update(_HOST.findall(text) or [text.splitlines()[0] if text else ""])
        for name in self._files(text, plain=not in_variables and not ("assert" in node.steps and key == "value")):
            self._named(name)

    def _agents(self, members: Json) -> None:
        """Coding agents, each with all that its config says: what it may do is what is agreed to."""
        named = {
            str(members.get("id", "")): members.get("config"),
            **{name: members[name] for name in members if agent_of(name)},
        }
        for ident, config in named.items():
            if program := agent_of(ident):
                self.commands.add(
                    f"{resolved_command([program], self.base)} {canonical(config) if config else ''}".strip()
                )

    def _command(self, text: str) -> None:
        try:
            words = shlex.split(text)
        except ValueError:
            words = [text]
        self.commands.add(resolved_command(words or [text], self.base))

    def _files(self, text: str, *, plain: bool) -> Iterator[str]:
        yield from _INCLUDE.findall(text)
        if text.startswith(("file://", "python:")):
            yield text.removeprefix("python:").strip().removeprefix("file://")
        elif plain and "\n" not in text and len(text) < MAX_NAME and not text.startswith("exec:"):
            head, _, function = text.rpartition(":")
            if Path(head if head and function.isidentifier() else text).suffix.lower() in CODE | DOCUMENTS | TEXTS:
                yield text
        yield from _FILE.findall(text)

    def _named(self, name: str) -> None:
        """The file, or the files that fit the pattern, as they are found from the config's folder."""
        head, _, function = name.rpartition(":")
        plain = head if head and function.isidentifier() else name
        if "\0" in plain or not plain:
            return
        if Path(plain).suffix.lower() in CODE and ("{" in plain or not self._fitting(plain)):
            self.code.add(plain)
        for fitting in self._fitting(plain):
            self._file(fitting)

    def _fitting(self, plain: str) -> list[Path]:
        path = self.base / plain
        try:
            if path.exists():
                return [path.resolve()]
            if not glob.has_magic(plain) and "{" not in plain:
                return []
            opened = re.sub(r"\{[^{}]*\}", "*", plain)
            return [Path(self.base, one).resolve() for one in glob.glob(opened, root_dir=self.base, recursive=True)]  # noqa: PTH207  as it is read
        except (OSError, ValueError, re.error):
            return []

    def _file(self, path: Path) -> None:
        outside = not path.is_relative_to(self.base)
        shown = str(path if outside else path.relative_to(self.base))
        if path.suffix.lower() in CODE:
            self.code.add(shown)
        elif outside:
            self.paths.add(shown)
        if path.is_file() and path.suffix.lower() in DOCUMENTS | TEXTS:
            self.file(path)
