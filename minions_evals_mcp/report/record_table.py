"""One record as a person reads it in a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import JsonValue
from rich.table import Table
from rich.text import Text

from minions_evals_mcp.domain.conversations import messages_of
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.report.chat import chat_lines
from minions_evals_mcp.report.plain import printable
from minions_evals_mcp.report.screen import console, on_screen

GATES = {"held": "passed", "failed": "failed", "undecided": "undecided", "None": "never run"}


def show_record(wire: Mapping[str, JsonValue], titles: Mapping[str, str]) -> None:
    """One record, field by field, and its relations, with the titles of what it is linked to."""
    out = console()
    title = Text(f"{wire['type']} {wire['id']}", style="bold")
    out.print(title, soft_wrap=True)
    fields = wire["fields"]
    table = Table(show_header=False, box=None, padding=(0, 1))
    messages = messages_of(obj(fields).get("actualOutput"))
    for name, value in fields.items() if isinstance(fields, dict) else ():
        if name == "actualOutput" and messages is not None:
            continue
        table.add_row(Text(name, style="dim"), Text(printable(_cell_text(value), 600)))
    out.print(table)
    for line in chat_lines(messages or (), out.width):
        out.print(Text(line), soft_wrap=True)
    for relation in _objects(wire, "relations"):
        line = f"  {relation['sourceId']} --{relation['type']}--> {relation['targetId']}"
        other = relation["targetId"] if relation["sourceId"] == wire["id"] else relation["sourceId"]
        title = printable(titles.get(str(other), ""), 80)
        out.print(Text(f"{line}  {title}".rstrip(), style="dim"), soft_wrap=True)
    for judged in _objects(wire, "judgments"):
        score = f"{judged['score']:g} of {judged['maxScore']:g} by {judged['judgedBy']}"
        told = f"  {judged['criterionId']}: {score}: {printable(str(judged['rationale']), 600)}"
        out.print(Text(on_screen(told, out)), soft_wrap=True)
    for gate in _objects(wire, "gates"):
        held = GATES[str(gate["gate"])]
        needed = "" if gate["casesNeeded"] is None else f"; about {gate['casesNeeded']} cases in all would decide it"
        line = f"  gate {gate['benchmarkId']} ≥ {gate['minScore']}: {held} (score {gate['score']}{needed})"
        out.print(Text(line), soft_wrap=True)


def _objects(wire: Mapping[str, JsonValue], name: str) -> list[Json]:
    return [obj(item) for item in listed_values(wire.get(name))]


def _cell_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
