"""Which keys published configs of promptfoo use, how often, and how many of those uses are carried out here.

python -m tests.bench.promptfoo_keys FOLDER [--all]

FOLDER holds promptfooconfig*.yaml files (promptfoo's own examples). A use is one key in one place of the grammar: of the
config, a test, its options, an assertion (and its type), a prompt, a provider. A key that the reader refuses, or that
stands in something that it refuses, or in a config at which it stops, is not supported. What stands inside the config of
a provider is counted apart: for the vendors that we reach, and for those that we do not, whose configs nobody else reads.
Nothing is run but the reader.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml

from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.interop.promptfoo_config.config import ConfigOverrides, read_config
from minions_evals_mcp.interop.promptfoo_config.providers.listed import read_providers
from minions_evals_mcp.interop.promptfoo_config.source.reading import Node, read_node
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals
from tests.workshop import START

UNKNOWN_THERE = re.compile(
    r"the assertion type '(?:not-)?(?:min-length|max-length|empty|not-empty|contains-json-property|json-schema-valid)'"
)
"""Types in its examples that promptfoo 0.123.1 itself does not know: a test with one ends there in an error."""
NOT_KEYS = frozenset({"config.outputs", "config.options", "test.tests", "provider.provider", "prompt.content"})
"""Keys in its examples that its schema has not."""
VENDOR = re.compile(r": the provider \S+")
Use = tuple[str, str]
"""Where a key stands in the grammar with its name, and the path of this use."""


def uses(config: dict[str, Any]) -> Iterator[Use]:
    """The uses of keys in one config, but for those inside its providers."""
    for key in config:
        yield f"config.{key}", key
    for name in ("defaultTest",):
        if isinstance(config.get(name), dict):
            yield from _of_test(config[name], name)
    yield from _of_tests(config.get("tests"), "tests")
    for number, one in enumerate(_listed(config.get("scenarios"))):
        yield from _of_tests(one.get("tests"), f"scenarios.{number}.tests")
        yield from _of_tests(one.get("config"), f"scenarios.{number}.config")
    for number, one in enumerate(_listed(config.get("prompts"))):
        yield from ((f"prompt.{key}", f"prompts.{number}.{key}") for key in one)
    for name, one in cast("dict[str, Any]", config.get("assertionTemplates") or {}).items():
        yield from _of_assertion(one, f"assertionTemplates.{name}")
    yield from (
        (f"evaluateOptions.{key}", f"evaluateOptions.{key}")
        for key in cast("dict[str, Any]", config.get("evaluateOptions") or {})
    )


def _listed(value: object) -> list[dict[str, Any]]:
    several = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [cast("dict[str, Any]", one) for one in several if isinstance(one, dict)]


def _of_tests(tests: object, at: str) -> Iterator[Use]:
    several = cast("list[Any]", tests) if isinstance(tests, list) else [tests]
    for number, one in enumerate(several):
        if isinstance(one, dict):
            yield from _of_test(cast("dict[str, Any]", one), f"{at}.{number}" if isinstance(tests, list) else at)


def _of_test(test: dict[str, Any], at: str) -> Iterator[Use]:
    yield from ((f"test.{key}", f"{at}.{key}") for key in test)
    for options in _listed(test.get("options")):
        yield from ((f"options.{key}", f"{at}.options.{key}") for key in options)
    for number, one in enumerate(_listed(test.get("assert"))):
        yield from _of_assertion(one, f"{at}.assert.{number}")


def _of_assertion(assertion: dict[str, Any], at: str) -> Iterator[Use]:
    for key, value in assertion.items():
        yield f"assertion.{key}", f"{at}.{key}"
        if key == "type":
            yield f"type {value}", f"{at}.type "
    for number, one in enumerate(_listed(assertion.get("assert"))):
        yield from _of_assertion(one, f"{at}.assert.{number}")


@dataclass
class Counts:
    """Uses by key, and those of them that are not carried out."""

    all: Counter[str] = field(default_factory=Counter[str])
    missing: Counter[str] = field(default_factory=Counter[str])

    def add(self, key: str, *, carried: bool) -> None:
        """Counts one use."""
        self.all[key] += 1
        self.missing[key] += not carried

    def with_all(self, *others: Counts) -> Counts:
        """These uses with those of others."""
        return Counts(
            sum((other.all for other in others), self.all), sum((other.missing for other in others), self.missing)
        )

    def told(self, name: str) -> str:
        """The share that is carried out."""
        total, missing = self.all.total(), self.missing.total()
        return f"{name}: {total - missing} of {total} uses carried out ({(total - missing) / max(total, 1):.1%})\n"


@dataclass(frozen=True)
class Refused:
    """The paths that the reader refuses, those that name a vendor which we do not reach, and what promptfoo has not either.

    `stop`: why the reader stopped, if it did.
    """

    paths: frozenset[str] = frozenset()
    vendors: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    stop: str = ""


def refused(path: Path) -> Refused:
    """What the reader refuses of that config."""
    given = ConfigOverrides(allow_unsupported=True, providers=("echo",), trust_code=True)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            left_out = read_config(path, now=START, overrides=given).left_out
    except EvalsError as error:
        return Refused(stop=error.message)
    by_path = {one.split(": ")[1]: one for one in left_out}
    vendors = frozenset(
        at
        for at, one in by_path.items()
        if VENDOR.search(one) and at.split(".")[-1] in ("provider", "text", "embedding")
    )
    unknown = frozenset(at for at, one in by_path.items() if UNKNOWN_THERE.search(one))
    return Refused(frozenset(by_path) - vendors - unknown, vendors, unknown)


def of_providers(node: Node, grammar: Counts, reached: Counts, foreign: Counts, vendors: Counter[str]) -> None:
    """Counts the keys of the providers under that node."""
    elements = node.elements() if isinstance(node.value, list) else [node]
    for one in elements:
        held: Any = one.value
        if not isinstance(held, dict):
            continue
        whole = cast("dict[str, Any]", held)
        ident = str(whole.get("id") or next(iter(whole)))
        inner: dict[str, Any] = whole if "id" in whole else whole[ident] or {}
        why = _refused_provider(one)
        strange = f"the provider {ident}" in why
        vendors[ident.partition(":")[0]] += strange
        for key in inner:
            if f"provider.{key}" in NOT_KEYS:
                continue
            grammar.add(f"provider.{key}", carried=f".{key}" not in why or key in ("id", "config"))
        for key in cast("dict[str, Any]", inner.get("config") or {}):
            carried = not strange and not re.search(rf"\.{re.escape(key)}\b", why)
            (foreign if strange else reached).add(f"provider.config.{key}", carried=carried)


def _refused_provider(node: Node) -> str:
    refusals = Refusals(trust_code=True)
    try:
        read_providers(node, refusals)
    except EvalsError as error:
        return error.message
    return " ".join(refusals.settled(allowed=True))


def _within(at: str, paths: frozenset[str]) -> bool:
    return any(at == one or at.startswith((f"{one}.", f"{one} ")) for one in paths)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--all", action="store_true", help="list every key")
    options = parser.parse_args()
    grammar, reached, foreign, elsewhere, judges = (Counts() for _ in range(5))
    vendors: Counter[str] = Counter()
    stopped: list[str] = []
    files = sorted(options.folder.rglob("promptfooconfig*.y*ml"))
    for path in files:
        config = yaml.safe_load(path.read_text("utf-8"))
        found = refused(path)
        if found.stop:
            stopped.append(f"{path.relative_to(options.folder)}: {found.stop.splitlines()[0][-160:]}")
        for key, at in uses(config):
            if key in NOT_KEYS or _within(at, found.unknown):
                elsewhere.add(key, carried=False)
            elif _within(at, found.vendors):
                judges.add(key, carried=False)
            else:
                grammar.add(key, carried=not found.stop and not _within(at, found.paths))
        node = read_node(path, path.parent).mapping()
        held = node.get("providers") or node.get("targets")
        if held is not None:
            of_providers(held, grammar, reached, foreign, vendors)
    say = sys.stdout.write
    say(f"{len(files)} configs; {len(stopped)} stop the reader\n")
    say("".join(f"  {one}\n" for one in stopped))
    say("all keys of these count as not carried out\n")
    say(
        f"apart: {elsewhere.all.total()} uses of types and keys that promptfoo itself does not know, and {judges.all.total()} "
    )
    say("that name a vendor as judge which we do not reach\n")
    say(grammar.told("keys of the grammar"))
    say(grammar.with_all(elsewhere, judges).told("the same strictly, with those that stand apart as not carried out"))
    say(reached.told("inside the configs of providers that we reach"))
    say(foreign.told("inside those of providers that we do not"))
    for counts in (grammar, reached):
        for key, count in counts.all.most_common():
            missing = counts.missing[key]
            if options.all or missing:
                say(f"  {count:5} {key}{f', {missing} not carried out' if missing else ''}\n")
    say(
        f"providers that we do not reach: {', '.join(f'{name} {count}' for name, count in vendors.most_common() if count)}\n"
    )


if __name__ == "__main__":
    main()
