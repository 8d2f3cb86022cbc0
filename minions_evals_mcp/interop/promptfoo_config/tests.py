"""The tests of a config: lists, files, scenarios, and what `defaultTest` adds to each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from minions_evals_mcp.domain.providers import PROVIDERS
from minions_evals_mcp.interop.promptfoo_config.csv_tests import read_csv
from minions_evals_mcp.interop.promptfoo_config.source import keys_there
from minions_evals_mcp.interop.promptfoo_config.source.code import called, called_module, code_file, runs_module
from minions_evals_mcp.interop.promptfoo_config.source.reading import (
    Node,
    SourceFile,
    named_file,
    named_files,
    read_lines,
    read_node,
)
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals

STORES_AS = "storeOutputAs"
SCORING = "assertScoringFunction"
ASKS = ("providers", "prompts", "provider", "providerOutput", SCORING)
"""What a test says of who is asked it, and of what makes its verdict."""
SINGLE = ("_expected", "_threshold", "_metric", "_config:")
"""Columns that decide a verdict, with an underscore too few."""
KEYS = ("description", "vars", "assert", "options", "threshold", "metadata", *ASKS)
OPTIONS = (
    "repeat",
    "prefix",
    "suffix",
    "transform",
    "postprocess",
    "transformVars",
    "provider",
    "rubricPrompt",
    "factuality",
    "disableVarExpansion",
    "disableDefaultAsserts",
    STORES_AS,
)
OF_MODELS = tuple(dict.fromkeys(name for row in PROVIDERS.values() for name in row.options))
"""What a test's options may ask of a model, over the provider's own config and the prompt's."""
AROUND = frozenset({"prefix", "suffix"})
HARMLESS = {"author": "it bears on no verdict", "id": "it bears on no verdict"}
HARMLESS_OPTIONS = {
    "delay": "calls wait by evaluateOptions.delay, or the provider's",
    "runSerially": "the order of tests bears on no verdict",
    "includeMetrics": "it bears on no verdict",
}
"""What a test may say that changes nothing here."""
DATA = frozenset({".csv", ".json", ".jsonl", ".yaml", ".yml"})


@dataclass(frozen=True, slots=True)
class Test:
    """One test as it is written, with what it takes over from others; its lists of variables are not spread yet."""

    __test__ = False
    node: Node
    description: str = ""
    variables: Mapping[str, Node] = field(default_factory=dict[str, Node])
    assertions: tuple[Node, ...] = ()
    options: Mapping[str, Node] = field(default_factory=dict[str, Node])
    threshold: float | None = None
    metadata: Mapping[str, Node] = field(default_factory=dict[str, Node])
    asks: Mapping[str, Node] = field(default_factory=dict[str, Node])

    def over(self, base: Test) -> Test:
        """This test with what it does not say itself taken from the other, whose assertions come first."""
        return Test(
            node=self.node,
            description=self.description or base.description,
            variables={**base.variables, **self.variables},
            assertions=(*base.assertions, *self.assertions),
            options={**base.options, **self.options},
            threshold=base.threshold if self.threshold is None else self.threshold,
            metadata={**base.metadata, **self.metadata},
            asks={**base.asks, **self.asks},
        )

    def with_default(self, default: Test) -> Test:
        """The same over `defaultTest`, whose assertions it may decline; an empty prefix or suffix declines nothing, as there."""
        options = {name: option for name, option in self.options.items() if name not in AROUND or option.value}
        merged = replace(self, options=options).over(default)
        declines = merged.options.get("disableDefaultAsserts")
        return replace(merged, assertions=self.assertions) if declines is not None and declines.yes() else merged


def read_tests(root: Mapping[str, Node], refusals: Refusals) -> list[Test]:
    """The tests of a config in order; without any, one with no variables."""
    default = _default(root, refusals)
    tests = list(_listed(root["tests"], refusals)) if "tests" in root else []
    scenarios = list(test_nodes(root["scenarios"], refusals)) if "scenarios" in root else []
    if not tests and not scenarios:
        nothing = next(iter(root.values()))
        tests = [Test(replace(nothing, value={}))]
    for scenario in scenarios:
        tests.extend(_scenario(scenario, refusals))
    return [test.with_default(default) for test in tests]


def _default(root: Mapping[str, Node], refusals: Refusals) -> Test:
    node = root.get("defaultTest")
    if node is None:
        return Test(next(iter(root.values())))
    if node.file is not None:
        node = read_node(named_file(node, node.file), node.source.base)
    return _test(node, refusals)


def _scenario(node: Node, refusals: Refusals) -> Iterator[Test]:
    """Every test of a scenario under every one of its configurations."""
    members = refusals.known(node, ("description", "config", "tests"))
    if "config" not in members:
        raise node.wrong("a scenario needs its config: a list of {vars: …}")
    tests = list(_listed(members["tests"], refusals)) if "tests" in members else [Test(replace(node, value={}))]
    for data in _listed(members["config"], refusals):
        yield from (test.over(data) for test in tests)


def _listed(node: Node, refusals: Refusals) -> Iterator[Test]:
    for element in test_nodes(node, refusals):
        yield _test(element, refusals)


def test_nodes(node: Node, refusals: Refusals) -> Iterator[Node]:
    """The elements of a list; a text among them, or in its place, names files of more."""
    match node.value:
        case str():
            yield from _in_files(node, node.value.removeprefix("file://"), None, refusals)
        case {"path": str(path)}:
            members = refusals.known(node, ("path", "config"))
            yield from _in_files(members["path"], path.removeprefix("file://"), members.get("config"), refusals)
        case list():
            for element in node.elements():
                if isinstance(element.value, str) or (isinstance(element.value, dict) and "path" in element.value):
                    yield from test_nodes(element, refusals)
                else:
                    yield element
        case _:
            refusals.add(node, "only a list, or the name of a file, is supported here")


def _in_files(node: Node, pattern: str, config: Node | None, refusals: Refusals) -> Iterator[Node]:
    if "://" in pattern:
        refusals.add(node, pattern)
        return
    code = code_file(pattern)
    if code is not None:
        yield from _made(node, *code, config, refusals)
        return
    if config is not None:
        refusals.add(config, "only code is given a config")
    for name in named_files(node, pattern):
        path = named_file(node, name)
        match path.suffix.lower():
            case ".csv":
                yield from read_csv(path, node.source.base)
            case ".jsonl":
                yield from read_lines(path, node.source.base)
            case ".yaml" | ".yml" | ".json":
                read = read_node(path, node.source.base)
                yield from read.elements() if isinstance(read.value, list) else [read]
            case _:
                refusals.add(node, f"{name}: known are files of {', '.join(sorted(DATA))}")


def _made(node: Node, file: str, function: str | None, config: Node | None, refusals: Refusals) -> Iterator[Node]:
    """The tests that a function of the user's gives; it is called with the config, if one stands beside it."""
    in_python = file.endswith(".py")
    if not in_python and not runs_module(node, file, refusals):
        return
    path = named_file(node, file)
    arguments = () if config is None else (config.value,)
    name = function or ("generate_tests" if in_python else "its export")
    if in_python:
        made = called(node, path, name, *arguments, called_with="config" if arguments else "")
    else:
        made = called_module(node, path, function, *arguments)
    if not isinstance(made, list):
        raise node.wrong(f"{name} in {path.name} must give a list of tests")
    yield from Node(made, SourceFile(path, "", node.source.base)).elements()


def _test(node: Node, refusals: Refusals) -> Test:
    members = refusals.known(node, KEYS, harmless=HARMLESS, there=keys_there.TEST)
    options = _options(members["options"], refusals) if "options" in members else {}
    variables = _variables(members["vars"]) if "vars" in members else {}
    for name, variable in variables.items():
        if name == "assert" and isinstance(variable.value, list):
            refusals.note(variable, "a variable, which checks nothing: move assert out of vars, beside it")
        elif name.startswith(SINGLE):
            refusals.note(variable, f"a variable, which decides nothing: do you mean _{name}?")
    return Test(
        node=node,
        description=members["description"].text() if "description" in members else "",
        variables=variables,
        assertions=tuple(members["assert"].elements()) if "assert" in members else (),
        options=options,
        threshold=members["threshold"].number() if "threshold" in members else None,
        metadata=members["metadata"].mapping() if "metadata" in members else {},
        asks={key: members[key] for key in ASKS if key in members and members[key].value is not None},
    )


def _options(node: Node, refusals: Refusals) -> dict[str, Node]:
    """The options in the order in which they stand: code is told them so."""
    known = refusals.known(node, (*OPTIONS, *OF_MODELS), harmless=HARMLESS_OPTIONS, there=keys_there.OPTIONS)
    return {name: known[name] for name in node.mapping() if name in known}


def _variables(node: Node) -> dict[str, Node]:
    """The variables by name; they may stand in a file of their own, or in several."""
    if isinstance(node.value, dict):
        return node.mapping()
    listed = node.elements() if isinstance(node.value, list) else [node]
    if any(node.file is not None for node in listed):
        raise node.wrong("promptfoo takes no variables from file://: name the file without it")
    beside = replace(node, source=replace(node.source, base=node.source.path.resolve().parent))
    names = [name for node in listed for name in named_files(beside, node.text())]
    files = [named_file(beside, name) for name in names]
    return {name: variable for file in files for name, variable in read_node(file, node.source.base).mapping().items()}
