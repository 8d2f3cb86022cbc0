"""What `eval` reads and writes beside a config: modules that import others, edited programs, files of results in every form."""

from __future__ import annotations

import json
from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.shared.cli.terminal import Terminal

TESTS = "tests: [{vars: {q: abc}, assert: [{type: contains, value: b}]}, {vars: {q: <x>}, assert: [{type: contains, value: y}]}]\n"
CONFIG = f"prompts: ['{{{{q}}}}']\nproviders: [echo]\n{TESTS}"


def _junit(text: str) -> None:
    (suite,) = ET.fromstring(text)  # noqa: S314  our own file
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "2", "failures": "1", "errors": "0"
    }  # fmt: skip
    assert "output: <x>" in str(suite[1][0].text)


def _page(text: str) -> None:
    assert text.startswith("<!doctype html>")
    assert "&lt;x&gt;" in text
    assert "<x>" not in text


def _lines(text: str) -> None:
    assert [json.loads(line)["success"] for line in text.splitlines()] == [True, False]


def _results(text: str) -> None:
    assert yaml.safe_load(text)["results"]["stats"]["failures"] == 1


FORMS: dict[str, Callable[[str], None]] = {
    "r.xml": _junit, "r.junit.xml": _junit, "r.html": _page, "r.jsonl": _lines, "r.json": _results, "r.yaml": _results,
    "r.yml": _results, "made/for/it/r.html": _page,
}  # fmt: skip


def test_results_are_written_in_every_form_and_folders_are_made(at: Terminal) -> None:
    at.file("c.yaml", f"{CONFIG}outputPath: [own/r.jsonl]\n")
    named = [part for name in FORMS for part in ("-o", name)]
    (ended,) = at.many(["eval", "c.yaml", *named])
    assert ended.code == 0, ended.err
    for name, read in {**FORMS, "own/r.jsonl": _lines}.items():
        read(at.folder.joinpath(name).read_text())


@pytest.mark.parametrize("name", ["r.pdf", "r"])
def test_another_form_is_refused_before_anything_runs(bare: Terminal, name: str) -> None:
    bare.file("c.yaml", CONFIG)
    (ended,) = bare.many(["eval", "c.yaml", "-o", name])
    assert ended.code == 2
    assert "unsupported output format" in ended.err


MODULES = {
    "check.mjs": "import { long } from './lib/helper.mjs';\nexport default (output) => long(output);\n",
    "named.mjs": "import { long } from './lib/helper.mjs';\nexport const check = (output) => long(output);\n",
    "check.cjs": "const { long } = require('./lib/common.cjs');\nmodule.exports = (output) => long(output);\n",
    "again.mjs": "export { long as default } from './lib/helper.mjs';\n",
}
HELPERS = {
    "lib/helper.mjs": "export const long = (text) => text.length > LENGTH;\n",
    "lib/common.cjs": "exports.long = (text) => text.length > LENGTH;\n",
}


def _with_modules(at: Terminal, length: int) -> None:
    (at.folder / "lib").mkdir(exist_ok=True)
    for name, text in (MODULES | HELPERS).items():
        at.file(name, text.replace("LENGTH", str(length)))


def test_a_check_imports_the_module_beside_it_where_it_is_trusted_and_an_edited_one_is_run_again(at: Terminal) -> None:
    names = ["check.mjs", "named.mjs:check", "check.cjs", "again.mjs"]
    checks = ", ".join(f"{{type: javascript, value: 'file://{name}'}}" for name in names)
    at.file("c.yaml", f"prompts: ['{{{{q}}}}']\nproviders: [echo]\ntests: [{{vars: {{q: abc}}, assert: [{checks}]}}]\n")
    command = ["eval", "c.yaml", "--yes", "--trust-code", "--json"]
    _with_modules(at, 2)
    (short,) = at.many(command)
    _with_modules(at, 5)
    edited, untrusted = at.many(command, ["eval", "c.yaml", "--yes"])
    assert [cell(found.out) for found in (short, edited)] == [True, False], short.err
    assert untrusted.code == 2
    assert "--trust-code" in untrusted.err


def cell(out: str) -> object:
    return json.loads(out)["rows"][0]["cells"][0]["passed"]


def test_an_edited_program_is_asked_again_and_a_cached_result_is_named(at: Terminal) -> None:
    def write(said: str) -> None:
        at.file("agent.py", "import helper\nprint(helper.answer())\n")
        at.file("helper.py", f"def answer(): return {said!r}\n")

    at.file("c.yaml", f"prompts: ['{{{{q}}}}']\nproviders: ['exec:python3 -B agent.py']\n{TESTS}")
    command = ["eval", "c.yaml", "--yes", "--json"]
    write("first b")
    first, cached = at.many(command, command)
    write("then y")
    (edited,) = at.many(command)
    outputs = [json.loads(ended.out)["rows"][0]["cells"][0]["output"].strip() for ended in (first, cached, edited)]
    assert outputs == ["first b", "first b", "then y"]
    assert ["nothing was re-run" in ended.err for ended in (first, cached, edited)] == [False, True, False]


def test_a_config_without_prompts_asks_what_the_variable_prompt_says(at: Terminal) -> None:
    at.file("c.yaml", "providers: [echo]\ntests: [{vars: {prompt: hi}, assert: [{type: equals, value: hi}]}]\n")
    (ended,) = at.many(["eval", "c.yaml", "--json"])
    assert cell(ended.out) is True, ended.err
