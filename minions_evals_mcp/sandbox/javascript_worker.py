"""The process that runs JavaScript snippets: one JSON request a line in, one JSON answer a line out.

Each snippet has a context of its own. The process confines itself before the first, and is killed when it does not
answer.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO, cast

import quickjs

from minions_evals_mcp.sandbox.confine import confine

PROCESS_MEMORY = 2 << 30
STACK = 1 << 20
_HEADER_LINES = 2
"""What the engine writes before the body of a function that is made of text."""
_LINE = re.compile(r"<input>:(\d+)")
_RETURN = re.compile(r"\breturn\b")
_LONGEST_ERROR, _LONGEST_NAME = 500, 50
_GUARD = Path(__file__).with_name("guard.js").read_text(encoding="utf-8")
_DRIVER = """(function (forms, given, guards, guard) {
  const { parse, stringify } = JSON, make = Function, Later = Promise, Failure = Error, text = String;
  const follow = make.prototype.call.bind(Later.prototype.then);
  const glue = make.prototype.call.bind(Array.prototype.join);
  const variables = parse(given), unread = guard(variables, guards), names = Object.keys(variables), values = Object.values(variables);
  const nowhere = () => { };
  let local = '';
  const missed = () => unread() || local;
  const byPlace = (holder, name, plain) => {
    const known = holder[name];
    holder[name] = function (...given) {
      const found = plain(this, given);
      if (found !== undefined) return found;
      local ||= `${name}, which goes by a language and a place that are not known here`;
      return glue([], '');
    };
    holder[name].prototype = known.prototype;
  };
  const plainly = make.prototype.call.bind(RegExp.prototype.test), parted = make.prototype.call.bind(RegExp.prototype.exec);
  const swap = make.prototype.call.bind(String.prototype.replace), low = make.prototype.call.bind(String.prototype.toLowerCase);
  byPlace(Number.prototype, 'toLocaleString', (number, [place, options]) => {
    const american = place === undefined || place === 'en-US' || place === 'en';
    const parts = american && options === undefined && parted(/^(-?\\d+)(\\.\\d{1,3})?$/, text(number));
    return parts ? swap(parts[1], /\\B(?=(?:\\d{3})+$)/g, ',') + (parts[2] || '') : undefined;
  });
  byPlace(String.prototype, 'localeCompare', (held, [other, place, options]) => {
    const one = text(held), two = text(other);
    const letters = /^[0-9A-Za-z ]*$/, ours = place === undefined && options === undefined;
    if (!ours || !plainly(letters, one) || !plainly(letters, two)) return undefined;
    const a = low(one), b = low(two);
    if (a !== b) return a < b ? -1 : 1;
    return one === two ? 0 : one > two ? -1 : 1;  // of two letters the small one is first
  });
  for (const name of ['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString']) byPlace(Date.prototype, name, () => undefined);
  globalThis.console = { log: nowhere, info: nowhere, warn: nowhere, error: nowhere, debug: nowhere };
  let ran = false;
  const told = (mark, form, error) => {
    let what = 'an error', where = '';
    try { what = text(error); if (!ran && error instanceof Failure) where = text(error.stack); } catch (_) { }
    return glue([mark, form, stringify(what + '\\n' + where)], '');
  };
  let snippet, form = 0;
  for (; form < forms.length; form++) {
    try {
      snippet = make(...names, forms[form].read);
      if (forms[form].run !== forms[form].read) snippet = make(...names, forms[form].run);
      break;
    }
    catch (error) { if (form === forms.length - 1) return told('?', form, error); }
  }
  const broken = (error) => missed() ? glue(['-', missed()], '') : told('!', form, error);
  const written = (value) => {
    if (value !== value) return glue(['!', form, stringify('the result is NaN\\n')], '');
    try { value = stringify(value); } catch (error) { return broken(error); }
    if (missed()) return glue(['-', missed()], '');
    return glue(['=', value === undefined ? 'null' : value], '');
  };
  try {
    const value = snippet(...values);
    ran = true;
    if (!(value instanceof Later)) return written(value);
    let settled = '&';
    follow(value, (found) => { settled = written(found); }, (error) => { settled = broken(error); });
    return () => settled;
  } catch (error) { return broken(error); }
})"""
"""Takes what it needs of the engine's objects before the snippet can bend them, and returns one flat text."""

Answer = dict[str, object]
_Thrown = cast("type[Exception]", quickjs.JSException)
_Overflow = cast("type[Exception]", quickjs.StackOverflow)


def answer(request: str) -> Answer:
    """The answer to {code, variables, seconds, memory, output}: {value} as JSON text, or {kind, error}.

    To {several: [such, …]} it is {answers: [such, …]}.
    """
    request_read = json.loads(request)
    return (
        {"answers": [_ran(program) for program in request_read["several"]]}
        if "several" in request_read
        else _ran(request_read)
    )


def _ran(request: dict[str, Any]) -> Answer:
    context = cast("Any", quickjs.Context())
    context.set_memory_limit(request["memory"])
    context.set_time_limit(request["seconds"])
    context.set_max_stack_size(STACK)
    forms = _forms(request["code"])
    try:
        arguments = ", ".join(map(json.dumps, (forms, request["variables"], request.get("guards", []))))
        outcome = context.eval(f"{_DRIVER}({arguments}, {_GUARD})")
        if not isinstance(outcome, str):
            outcome = _settled(context, outcome, request["seconds"])
    except _Overflow:
        return _broke("raised", "RangeError: Maximum call stack size exceeded")
    except _Thrown as error:
        return _broke(*_sorted("raised", str(error).partition("\n")[0]))
    return _answer(outcome, forms, request["output"])


def _settled(context: Any, read_text: Callable[[], str], seconds: float) -> str:
    """Returns what a promise gave in the end."""
    until = time.process_time() + seconds
    while context.execute_pending_job():
        if time.process_time() > until:
            raise _Thrown("InternalError: interrupted")
    return read_text()


def _forms(code: str) -> list[dict[str, str]]:
    """Returns what the snippet may be, as function bodies: an expression, a body that returns, statements whose last counts."""
    expression = f"return ({code.rstrip().rstrip(';')}\n)"
    body = code if _RETURN.search(code) else f"return eval({json.dumps(code)})"
    return [{"read": expression, "run": expression}, {"read": code, "run": body}]


def _answer(text: str, forms: list[dict[str, str]], most: int) -> Answer:
    mark, rest = text[:1], text[1:]
    match mark:
        case "=" if len(rest) > most:
            return _broke("output-limit", f"the result has more than {most:,} characters")
        case "=":
            return {"value": rest}
        case "-":
            return _broke("unsupported", f"the code reads {rest}")
        case "&":
            return _broke("unsupported", "a promise that nothing here settles")
        case _:
            form = forms[int(rest[0])]
            within = form["run"].startswith("return eval(") and mark == "!"
            return _error_answer("syntax" if mark == "?" else "raised", rest[1:], 0 if within else _HEADER_LINES)


def _error_answer(kind: str, text: str, header: int) -> Answer:
    """Returns what the driver says of an error; a snippet may have bent how a text is written as JSON."""
    try:
        document: object = json.loads(text)
    except ValueError:
        document = None
    what, _, where = document.partition("\n") if isinstance(document, str) else ("an error", "", "")
    kind, what = _sorted(kind, what)
    at = _LINE.search(where)
    line = int(at[1]) - header if at else 0
    return _broke(kind, f"line {line}: {what}" if line > 0 and what else what, what.partition(":")[0])


def _sorted(kind: str, what: str) -> tuple[str, str]:
    """The engine's own errors at a limit by the limit's name."""
    match what:
        case "InternalError: interrupted":
            return "time-limit", ""
        case "InternalError: out of memory" | "null":  # where not even the error finds room, the engine throws null
            return "memory-limit", ""
        case _:
            return kind, what


def _broke(kind: str, error: str, name: str = "") -> Answer:
    return {"kind": kind, "error": error[:_LONGEST_ERROR], "name": name[:_LONGEST_NAME]}


def serve(requests: TextIO, answers: TextIO, ready: str) -> None:
    """Says `ready`, then answers every line until there are no more."""
    answers.write(ready + "\n")
    answers.flush()
    for request in requests:
        answers.write(json.dumps(answer(request)) + "\n")
        answers.flush()


def main() -> None:
    """Confines the process and serves."""
    holds = confine(memory_bytes=PROCESS_MEMORY)
    serve(sys.stdin, sys.stdout, json.dumps(holds))
