"""What each page of the reference says, taken from the code that it is about."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import cast

import yaml
from cyclopts import App
from pydantic import BaseModel, JsonValue

from minions_evals_mcp import errors
from minions_evals_mcp.cli.access import MEANINGS, access_rows, needs_of
from minions_evals_mcp.cli.command_lines import build
from minions_evals_mcp.cli.commands import COMMANDS, GROUP_OF, NOUNS
from minions_evals_mcp.crashes import EXIT_CODE
from minions_evals_mcp.domain.records import ASKED, DEFINITIONS, RECORDED, RESULTS
from minions_evals_mcp.domain.speaker import ROLES
from minions_evals_mcp.messages.payloads import KINDS as MESSAGES
from minions_evals_mcp.scoring.assertions.table import NAMES, kind_of
from minions_evals_mcp.server.catalogue import CATALOGUE
from minions_evals_mcp.server.graphql.schema import graphql_schema
from minions_evals_mcp.view.app import Page, routes
from tests.reference.assertion_examples import EXAMPLES, UNTRIED, Json

Schema = dict[str, JsonValue]
COMMON = ("--db", "--json", "--quiet", "--read-only")
MADE = "*Generated from the code.*"


def page(title: str, *parts: str) -> str:
    """A page of Markdown."""
    return "\n\n".join([f"# {title}", *parts, MADE]) + "\n"


def flowing(text: str) -> str:
    """The text without the line breaks of its docstring, its paragraphs apart."""
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


def cell(text: str) -> str:
    """The text as a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def commands() -> str:
    """Every command with its options; what stands under a noun only is at the end."""
    app = build(["", *COMMANDS, *NOUNS])  # none comes first: all are known
    shared = dict(_options(app["runs"], COMMON))
    shown = sorted(COMMANDS, key=lambda name: (name not in GROUP_OF, list(COMMANDS).index(name)))
    parts = [_command(f"minions-evals {name}", app[name]) for name in shown]
    for noun, (_, verbs) in NOUNS.items():
        parts.extend(
            _command(f"minions-evals {noun} {verb}", build([noun, verb])[noun][verb])
            for verb, (target, _) in verbs.items()
            if target not in {target for target, _ in COMMANDS.values()}
        )
    lead = (
        "Every command takes `--help`. Those that answer a program take `--json`. `minions-evals --help` shows the"
        " first ones. The others work too, and most of them are also grouped under a noun: "
        + ". ".join(_noun(noun) for noun in NOUNS)
        + "."
    )
    common = "Options of every command that reads or writes a store:"
    return page("Commands", lead, common, _table(shared.values()), *parts)


def _noun(noun: str) -> str:
    return f"`{noun}` " + ", ".join(f"`{verb}`" for verb in NOUNS[noun][1])


def _command(name: str, app: App) -> str:
    said, _, _ = app.help.partition("Parameters\n")
    prose, *examples = re.split(r"^\s*Example: ", said, flags=re.MULTILINE)
    described = "\n\n".join([flowing(prose), *(f"    {example.strip()}" for example in examples)])
    own = [row for name, row in _options(app) if name not in COMMON]
    return "\n\n".join([f"## {name}", described, *([_table(own)] if own else [])])


def _table(rows: Iterable[str]) -> str:
    return "\n".join(["| option | default | meaning |", "|---|---|---|", *rows])


def _options(app: App, names: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """The rows of the command's options by their names, or of those only."""
    for argument in app.assemble_argument_collection(parse_docstring=True):
        name = argument.names[0]
        if argument.parameter.show is False or name == "*" or (names and name not in names):
            continue
        given = argument.field_info.default
        default = "" if given in (inspect.Parameter.empty, None, False, ()) else cell(str(given))
        said = " ".join(f"`{known}`" for known in argument.names)
        yield name, f"| {said} | {default} | {cell(str(argument.parameter.help or ''))} |"


def tools() -> str:
    """Every MCP tool with its arguments."""
    parts = [
        "\n\n".join(
            [
                f"## {name}",
                "\n".join(f"{line}  " for line in entry.description.splitlines()).rstrip(),
                _fields(entry.arguments.model_json_schema(by_alias=True)),
            ]
        )
        for name, entry in CATALOGUE.items()
    ]
    lead = (
        "You call a tool with one object of arguments. `tools/list` has the schema of each answer."
        " To start the server, see [MCP server](mcp-server.md)."
    )
    return page("MCP tools", lead, *parts)


def assertions() -> str:
    """Every assertion type with an example."""
    lead = (
        "An assertion is `{type, value, threshold, weight, metric, transform}`; only `type` is always required. `not-` before a type"
        " inverts its verdict. The examples are rows for `minions-evals score`. A test runs each of them."
    )
    return page("Assertions", lead, *(_assertion(name) for name in NAMES))


def _assertion(name: str) -> str:
    example = EXAMPLES[name]
    kind = kind_of(name)
    assert kind is not None
    lines = [f"## {name}", flowing(inspect.getdoc(kind.check) or ""), _json({"type": name, **example.assertion})]
    if name not in UNTRIED:
        lines.append(f"- passes: {_code(example.passes)}\n- fails: {_code(example.fails)}")
    return "\n\n".join(lines)


def _json(value: JsonValue) -> str:
    return f"```json\n{json.dumps(value, ensure_ascii=False)}\n```"


def _code(row: Json) -> str:
    text = row["output"] if row.keys() == {"output"} else row
    written = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
    return f"`` {' '.join(written.split())} ``"


def records() -> str:
    """Every record type with its fields."""
    groups: dict[str, tuple[type[BaseModel], ...]] = {
        "What you write": DEFINITIONS,
        "What agents and prompts bring": RECORDED,
        "What runs make": RESULTS,
        "What goes out to others": ASKED,
    }
    parts = ["\n\n".join([f"## {title}", *(_record(kind) for kind in kinds)]) for title, kinds in groups.items()]
    lead = (
        "A record is `{id, type, title, fields, tags, status, createdAt, updatedAt, createdBy}`. These are the fields of each type, as they"
        " stand in suite files, over MCP and in exports; a star marks what must be given."
    )
    return page("Records", lead, *parts)


def _record(kind: type[BaseModel]) -> str:
    slug = cast("str", getattr(kind, "slug"))  # noqa: B009  the table's types have it
    fields = _fields(kind.model_json_schema(by_alias=True), meanings()[slug])
    return "\n\n".join([f"### {slug}", flowing(inspect.getdoc(kind) or ""), fields])


@cache
def meanings() -> dict[str, dict[str, str]]:
    """What each field means, by the slug of its record and its name on the wire."""
    return yaml.load((Path(__file__).parent / "field_meanings.yaml").read_bytes(), yaml.CSafeLoader)


def _fields(schema: Mapping[str, JsonValue], meant: Mapping[str, str] | None = None) -> str:
    fields = cast("Mapping[str, Schema]", schema.get("properties", {}))
    needed = cast("list[str]", schema.get("required", []))

    def said(name: str, field: Schema) -> str:
        return meant.get(name, "") if meant else str(field.get("description", ""))

    rows = [
        f"| `{name}`{'*' if name in needed else ''} | {cell(_type(field, schema))} | {cell(said(name, field))} |"
        for name, field in fields.items()
    ]
    return "\n".join(["| field | type | meaning |", "|---|---|---|", *rows]) if rows else "It takes nothing."


def _type(field: Mapping[str, JsonValue], schema: Mapping[str, JsonValue]) -> str:
    """What a field holds, in a word or two."""
    if "$ref" in field:
        name = str(field["$ref"]).rpartition("/")[2]
        inner = cast("Mapping[str, Schema]", schema.get("$defs", {})).get(name, {})
        return (
            " or ".join(map(str, cast("list[JsonValue]", inner["enum"])))
            if "enum" in inner
            else str(inner.get("type", "any"))
        )
    if "const" in field:
        return str(field["const"])
    if "enum" in field:
        return " or ".join(map(str, cast("list[JsonValue]", field["enum"])))
    if options := cast("list[Schema]", field.get("anyOf") or field.get("oneOf") or []):
        return " or ".join(dict.fromkeys(_type(option, schema) for option in options))
    if field.get("type") == "array":
        return f"list of {_type(cast('Schema', field.get('items') or {}), schema)}"
    return str(field.get("format") or field.get("type") or "any")


def messages() -> str:
    """Every type of message that the agent takes, with the fields of its payload."""
    rows = [
        f"| `{name}` | {', '.join(_named(kind.payload))} | {cell(inspect.getdoc(kind.payload) or '')} |"
        for name, kind in MESSAGES.items()
    ]
    lead = (
        "A message to the EvalAgent is `{type, payload, id, fromAgentId}`: a line of its standard input (`--stdin`), a file of a folder"
        " (`--watch`), `minions-eval-agent send TYPE --payload …` or the MCP tool `send_message`. A message with the"
        " same `id` is handled once. `fromAgentId` is notified of the outcome. A star marks required keys."
        " A whole agent-run is `{id, type, fields}`."
    )
    return page("Messages", lead, "\n".join(["| type | payload | what it asks |", "|---|---|---|", *rows]))


def _named(payload: type[BaseModel]) -> list[str]:
    """The payload's fields as they stand on the wire, those that must be given with a star."""
    schema = payload.model_json_schema(by_alias=True)
    needed = cast("list[str]", schema.get("required", []))
    return [f"`{name}`{'*' if name in needed else ''}" for name in schema.get("properties", {})]


def failures() -> str:
    """Exit codes, and every error with its code."""
    codes = "\n".join(
        [
            "| exit code | meaning |",
            "|---|---|",
            "| 0 | success: all gates passed |",
            "| 1 | a quality gate failed: a threshold, a regression, a case that did not pass |",
            "| 2 | invalid input: nothing has run |",
            f"| {EXIT_CODE} | the evaluation could not be completed (judge, target, store), or there is too little data to decide |",
            "| 130 | interrupted: judged outputs are saved |",
        ]
    )
    leaves = [
        found for found in vars(errors).values() if inspect.isclass(found) and issubclass(found, errors.EvalsError)
    ]
    rows = [f"| `{leaf.code}` | {leaf.exit_code} | {cell(inspect.getdoc(leaf) or '')} |" for leaf in leaves]
    table = "\n".join(["| code | exit code | meaning |", "|---|---|---|", *rows])
    lead = (
        "An error describes the problem, names the field and the remedy. With `--json` it is `{error: {code, message, remedy}}`."
        " MCP and GraphQL return the same code."
    )
    return page("Exit codes and errors", codes, lead, table)


def graphql() -> str:
    """The schema of the testing API."""
    return f"{graphql_schema().as_str()}\n"


def access() -> str:
    """What each command runs, reads, writes and connects to."""
    rows = [
        "| command | store | writes files | runs and listens | after you named it or agreed |",
        "| --- | --- | --- | --- | --- |",
    ]
    rows += [f"| `{name}` | {' | '.join(map(cell, cells))} |" for name, *cells in access_rows(every_command())]
    return page(
        "What commands reach",
        "This page is for you if you have to know what a command does to your machine before you start it.",
        "Every command reads the project file, the settings in the environment and the store. It writes nothing outside the store but"
        " what the table names.",
        "Without a key that you set up and a target that you name, no command connects to anything.",
        "A file of somebody else's that names programs, addresses or keys is shown before it is used, and nothing in it runs before you"
        " agree. In a script, `--yes` and `--trust-code` agree. Agreement is kept by digest: after a change you are asked again.",
        "\n".join(f"- *{word}*: {meaning}" for word, meaning in MEANINGS.items()),
        "\n".join(rows),
        "The tests run each command and compare what it opens, starts and connects to with this table.",
    )


def roles() -> str:
    """What each role may do on the command line, at the MCP server, the testing API and the page."""
    pages = [(one, *sorted((one.methods or set()) - {"HEAD"})) for one in routes() if isinstance(one, Page)]
    rows = [
        f"| `{role}` | {_listed(name for name in every_command() if needs_of(name) == role)}"
        f" | {_listed(name for name, entry in CATALOGUE.items() if entry.needs == role)}"
        f" | {_listed(page.path for page, method in pages if page.needs == role and method == 'GET')}"
        f" | {_listed(page.path for page, method in pages if page.needs == role and method == 'POST')} |"
        for role in ROLES
    ]
    return page(
        "What each role may do",
        "This page is for you if several people share one store. Each role may do what its row names, and what the rows above it name.",
        "\n".join(("| role | commands | MCP tools | pages | forms |", "| --- | --- | --- | --- | --- |", *rows)),
        "Over GraphQL queries need a viewer, and mutations an editor. Resources need a viewer.",
        "On the command line a person is known by MINIONS_EVALS_PERSON_TOKEN. Without it you act as the operator: whoever can open the"
        " store's file can do all with it.",
        "`minions-evals people role NAME ROLE` changes a role ([identity and permissions](../concepts/identity.md)).",
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "–"


def every_command() -> list[str]:
    """Every command by its own name; what stands under a noun only with the noun."""
    known = {target for target, _ in COMMANDS.values()}
    alone = [
        f"{noun} {verb}"
        for noun, (_, verbs) in NOUNS.items()
        for verb, (target, _) in verbs.items()
        if target not in known
    ]
    return [*COMMANDS, *alone]


PAGES: dict[str, Callable[[], str]] = {
    "access.md": access,
    "assertions.md": assertions,
    "commands.md": commands,
    "errors.md": failures,
    "messages.md": messages,
    "records.md": records,
    "roles.md": roles,
    "schema.graphql": graphql,
    "tools.md": tools,
}
