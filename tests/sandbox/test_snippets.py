"""Snippets that people write: what they give, how they fail, and what becomes of the processes that ran them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.sandbox.limits import DEEPEST_RESULT, Limits, returned
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.sandbox.worker import Worker, WorkerDiedError, Workers
from minions_evals_mcp.scoring.checks import Language, Ran, SnippetError, SnippetNeed
from tests.hang import HANG_S

pytestmark = pytest.mark.anyio

ROWS: JsonValue = [{"a": 1, "ok": True}, {"a": 4, "ok": False}]
BRIEF = Limits(seconds=0.2, memory_bytes=32 << 20, output_bytes=1_000)
LOOPS: dict[Language, str] = {"python": "while True: pass", "javascript": "for (;;);"}
LANGUAGES: tuple[Language, ...] = ("python", "javascript")
linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


@pytest.fixture
async def snippets() -> AsyncGenerator[Snippets]:
    async with Snippets() as found:
        yield found


@pytest.fixture
async def unconfined() -> AsyncGenerator[Snippets]:
    """Snippets as they run where the system confines no process."""
    async with Snippets(confined=False) as found:
        yield found


def children() -> set[int]:
    """The processes that this one started and that still are."""
    found = set[int]()
    for task in Path("/proc/self/task").iterdir():
        found.update(map(int, (task / "children").read_text().split()))
    return found


async def test_code_finds_data_and_returns_from_its_top_level_in_both_languages(snippets: Snippets) -> None:
    given: dict[str, JsonValue] = {"data": ROWS}
    python = "total = 0\nfor row in data:\n    total += row['a']\nreturn {'score': total / len(data)}"
    javascript = "let total = 0;\nfor (const row of data) total += row.a;\nreturn {score: total / data.length};"
    assert await snippets.run("python", python, given) == Ran({"score": 2.5})
    assert await snippets.run("javascript", javascript, given) == Ran({"score": 2.5})


WRITTEN: list[tuple[str, JsonValue]] = [
    ("[row['a'] ** 2 for row in data if row['ok']]", [1]),
    ("{row['a']: row['ok'] for row in data}", {"1": True, "4": False}),
    ("f\"{sum(row['a'] for row in data) / 3:.2f}\"", "1.67"),
    ("sorted(data, key=lambda row: -row['a'])[0]['a']", 4),
    ("[min(3, 1), max(row['a'] for row in data), abs(-2), round(2.567, 1), any([0, 1]), all([])]", [1, 4, 2, 2.6, True, True]),
    ("import math\nmath.sqrt(sum(map(lambda row: row['a'], data)) + 4)", 3.0),
    ("json.loads('{\"x\": [1, null]}')['x']", [1, None]),
    ("re.findall(r'\\d+', 'a1b22')", ["1", "22"]),
    ("def half(x, by=2):\n    return x / by\n\nhalf(data[1]['a'])", 2.0),
    ("a, *rest = [1, 2, 3]\nwhile rest:\n    a += rest.pop()\na", 6),
    ("try:\n    data[9]\nexcept IndexError as error:\n    found = str(error)\nelse:\n    found = ''\nbool(found)", True),
    ("from collections import Counter\nCounter('aab')['a']", 2),
    ("[mean([1, 2]), median([5, 1, 3]), median([1, 2]), pstdev([1, 3]), variance([1, 3])]", [1.5, 3, 1.5, 1.0, 2.0]),
    ("import statistics\nimport statistics as st\nfrom statistics import mean, stdev\nstatistics.fmean([1, 2]) + st.mean([1])", 2.5),
    ("if data:\n    if len(data) > 1:\n        return 'many'\nreturn 'few'", "many"),
    ("assert len(data) == 2", None),
    ("(1, 2)", [1, 2]),
    ('text = """\n    kept\n"""\ntext', "\n    kept\n"),
]  # fmt: skip
"""What people write in Python, and what it gives."""


@pytest.mark.parametrize("confined", [True, False])
async def test_what_people_write_in_python_works(*, confined: bool) -> None:
    async with Snippets(confined=confined) as snippets:
        found = [(code, await snippets.run("python", code, {"data": ROWS})) for code, _ in WRITTEN]
    assert found == [(code, Ran(value)) for code, value in WRITTEN]


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("data.filter((row) => row.ok).map((row) => row.a ** 2)", [1]),
        ("data.length > 1 && !!data[0].ok;", True),
        ("const s = data[1].a; s / 2", 2),
        ("const {a, ...rest} = data[0];\nreturn rest", {"ok": True}),
        ("class Sum { #x = 0; add(y) { this.#x += y; return this } get x() { return this.#x } }\nreturn new Sum().add(4).x", 4),
        ("`${Math.max(...data.map((row) => row.a)).toFixed(2)}`", "4.00"),
        ("JSON.parse('{\"x\": [1, null]}')", {"x": [1, None]}),
        ("[...'a1b22'.matchAll(/\\d+/g)].map((found) => found[0])", ["1", "22"]),
        ("if (data.length > 1) {\n  return 'many';\n}\nreturn 'few';", "many"),
        ("data.forEach((row) => { row.a += 1 }); data[0].a", 2),
        ("// only a comment", None),
        ("undefined", None),
        ("({a: NaN, b: undefined, c: [undefined]})", {"a": None, "c": [None]}),
        ("new Set([1, 2]).size + new Map([[1, 2]]).get(1)", 4),
        ("console.log('goes nowhere'); console.error(data); data.length", 2),
    ],
)  # fmt: skip
async def test_what_people_write_in_javascript_works(snippets: Snippets, code: str, value: JsonValue) -> None:
    assert await snippets.run("javascript", code, {"data": ROWS}) == Ran(value)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("class A(dict):\n    pass", "class inheritance"),
        ("def one():\n    yield 1", "yield"),
        ("x = [1]\ndel x[0]", "'del'"),
        ("import enum", "'enum'"),
        ("from typing_extensions import TypedDict", "'typing_extensions'"),
        ("class A:\n    @property\n    def x(self): return 1", "method decorators"),
        ("open('/etc/passwd')", "Permission denied"),
        ("'abc'.translate({97: 'b'})", "line 2: the sandbox's Python: no str.translate"),
        ("list(map(str.upper, ['a']))", "no str.upper, or only where it is called at once"),
        ("[callable(one) for one in data]", "no callable"),
        ("re.VERBOSE", "no re.VERBOSE"),
        ("from collections import ChainMap", "no collections.ChainMap"),
        ("from math import *", "Wildcard imports"),
        ("re.sub('a', lambda found: 'b', 'a')", "callable replacement is not yet supported"),
        ("raise ValueError('a', 1)", "zero or one string argument"),
        ("hasattr(data, 'append')", "hasattr"),
        ("if __name__ == '__main__':\n    data = []", "__name__"),
        ("next(one for one in data)", "generators"),
        ("each = (one for one in data)\nlist(each)", "generators"),
    ],
)
async def test_what_the_interpreter_lacks_is_refused_by_name(unconfined: Snippets, code: str, said: str) -> None:
    found = await unconfined.run("python", f"print('begun')\n{code}", {"data": [1]})
    assert isinstance(found, SnippetError)
    assert found.kind == "unsupported"
    assert said in found.error


STANDARD: list[tuple[str, JsonValue]] = [
    ("def each():\n    for row in data:\n        yield row['a']\n    return\nsum(each())", 5),
    ("def each():\n    got = yield 1\n    yield got\ng = each()\n[next(g), g.send(3)]", [1, 3]),
    ("def each():\n    yield from (row['a'] for row in data)\nlist(each())", [1, 4]),
    ("next(row['a'] for row in data if row['a'] > 1)", 4),
    ("del data[0]['ok'], data[1]\ndata", [{"a": 1}]),
    ("[hasattr('x', 'upper'), callable(len), __name__ == '__main__']", [True, True, False]),
    ("import string\nstring.capwords('a b') + string.punctuation[0]", "A B!"),
    ("import textwrap\ntextwrap.dedent('  a\\n  b')", "a\nb"),
    ("import difflib\ndifflib.SequenceMatcher(None, 'abcd', 'bcde').ratio()", 0.75),
    ("import html\nhtml.unescape('&lt;')", "<"),
    ("import operator\nsorted(data, key=operator.itemgetter('a'), reverse=True)[0]['a']", 4),
    ("import ast\nast.literal_eval('{\"a\": (1, 2)}')['a'][1]", 2),
    ("import ast\ntry:\n    ast.parse('1 +')\nexcept SyntaxError as error:\n    return 'no code'", "no code"),
    ("from urllib.parse import urlparse\nurlparse('https://a.b/c?d').netloc", "a.b"),
    ("from enum import Enum\nclass A(Enum):\n    B = 3\nA(3).name", "B"),
    ("from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int = 2\nA().x", 2),
    ("from collections import OrderedDict, ChainMap\nlist(ChainMap({'a': 1}, OrderedDict(b=2)))", ["b", "a"]),
    ("from datetime import datetime\ndatetime.strptime('2026-11-22', '%Y-%m-%d').year", 2026),
    ("from typing import Any, TypedDict\nclass A(TypedDict):\n    b: int\nA(b=1)['b']", 1),
    ("import xml.etree.ElementTree as tree\ntree.fromstring('<a><b/></a>')[0].tag", "b"),
    ("re.sub('a', lambda found: found[0].upper(), 'banana', flags=re.I | re.VERBOSE)", "bAnAnA"),
    ("'é'.encode('latin-1').hex()", "e9"),
    ("from __future__ import annotations\nfrom math import *\nfloor(pi)", 3),
    ("match data[0]:\n    case {'a': int(x)}:\n        return x", 1),
    ("x = 1\ndef add():\n    global x\n    x += 1\nadd()\nreturn x", 2),
]  # fmt: skip
"""What only standard Python can do, and what it gives."""
DENIED = {
    "import os": "no module os",
    "import numpy as np": "no module numpy",
    "try:\n    import numpy\nexcept ImportError:\n    numpy = None\nTrue": "no module numpy",
    "from urllib import request\nrequest": "no module urllib.request",
    "try:\n    open('/etc/passwd')\nexcept OSError:\n    pass\nTrue": "no files",
    "import xml.etree.ElementTree as tree\ntree.parse('/etc/passwd')": "no files",
    "input()": "no input",
}
"""Code that is after more than computing, and what it is denied."""


@linux
async def test_python_has_its_standard_library(snippets: Snippets) -> None:
    found = [(code, await snippets.run("python", code, {"data": ROWS})) for code, _ in STANDARD]
    assert found == [(code, Ran(value)) for code, value in STANDARD]


@linux
async def test_what_code_is_denied_is_named_whatever_it_makes_of_it(snippets: Snippets) -> None:
    for code, denied in DENIED.items():
        found = await snippets.run("python", code, {})
        assert isinstance(found, SnippetError)
        assert (found.kind, denied in found.error, str(argument("trust_code")) in found.error) == (
            "unsupported",
            True,
            True,
        ), found


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("'abc'.nothing", "AttributeError"),
        ("class A:\n    pass\nA().upper", "AttributeError"),
        ("json.nothing", "AttributeError"),
        ("from json import nothing", "ImportError"),
        ("nothing", "NameError"),
        ("raise NotImplementedError('later')", "NotImplementedError"),
        ("raise TypeError('no text')", "TypeError"),
        ("raise RuntimeError('monty')", "RuntimeError"),
    ],
)
async def test_what_real_python_lacks_as_well_is_the_codes_own_fault(
    snippets: Snippets, unconfined: Snippets, code: str, name: str
) -> None:
    for runs in (snippets, unconfined):
        found = await runs.run("python", code, {})
        assert isinstance(found, SnippetError)
        assert (found.kind, found.name) == ("raised", name), found


@pytest.mark.parametrize(
    ("language", "code", "kind", "said"),
    [
        ("python", "x = 1\n\ny = x.nothing\n", "raised", "line 3: AttributeError"),
        ("python", "def f():\n    return 1 / 0\n\nreturn f()", "raised", "line 2: ZeroDivisionError"),
        ("python", "x = 1\nassert x == 2, 'no'", "raised", "line 2: AssertionError: no"),
        ("python", "x = 1\nif x:\nreturn 2", "syntax", "line 3: "),
        ("python", "'x' * 2000", "output-limit", "the output limit of 1,000 characters"),
        ("python", "[0] * 10**9", "memory-limit", "the memory limit of 32 MB"),
        ("python", "while True: pass", "time-limit", "the time limit of 0.2 s"),
        ("python", "{1, 2}", "raised", "set"),
        ("javascript", "const x = 1;\n\nreturn 1 + x.y.z", "raised", "line 3: TypeError"),
        ("javascript", "const x = 1;\nx.y.z", "raised", "line 2: TypeError"),
        ("javascript", "x.y", "raised", "line 1: ReferenceError: x is not defined"),
        ("javascript", "const x = 1;\nreturn x +;", "syntax", "line 2: SyntaxError"),
        ("javascript", "throw 'plain'; return 1", "raised", "plain"),
        ("javascript", "'x'.repeat(2000)", "output-limit", "the output limit of 1,000 characters"),
        ("javascript", "new ArrayBuffer(1 << 30)", "memory-limit", "the memory limit of 32 MB"),
        ("javascript", "for (;;);", "time-limit", "the time limit of 0.2 s"),
        ("javascript", "new Promise(() => {})", "unsupported", "a promise that nothing here settles"),
        ("javascript", "(async () => { throw new Error('late') })()", "raised", "Error: late"),
        ("javascript", "new Date(0).toLocaleDateString()", "unsupported", "goes by a language and a place"),
        ("javascript", "'é'.localeCompare('e')", "unsupported", "localeCompare"),
    ],
)
async def test_a_failure_says_what_and_in_which_line(
    snippets: Snippets, language: Language, code: str, kind: str, said: str
) -> None:
    found = await snippets.run(language, code, {}, limits=BRIEF)
    assert isinstance(found, SnippetError)
    assert (found.kind, said in found.error) == (kind, True), found


@pytest.mark.parametrize(
    ("code", "gives"),
    [
        ("Promise.resolve(1)", 1),
        ("(async () => (await Promise.all([1, 2].map(async (n) => n * 2))).length)()", 2),
        ("['b', 'a', 'C', 'B'].sort((x, y) => x.localeCompare(y)).join('')", "abBC"),
        ("[1234567.892, 0.5, -1200].map((n) => n.toLocaleString()).join(' ')", "1,234,567.892 0.5 -1,200"),
    ],
)
async def test_promises_are_waited_for_and_texts_are_ordered_as_node_orders_them(
    snippets: Snippets, code: str, gives: JsonValue
) -> None:
    assert await snippets.run("javascript", code, {}) == Ran(gives)


@linux
async def test_waiting_is_no_computing_and_has_a_limit_of_its_own(snippets: Snippets) -> None:
    waits = "import time\ntime.sleep(0.3)\n7"
    assert await snippets.run("python", waits, {}, limits=BRIEF) == Ran(7)
    found = await snippets.run("python", waits.replace("0.3", "600"), {}, limits=Limits(wall_seconds=0.3))
    assert found == SnippetError("time-limit", "it had not ended after 0.3 s")


async def test_code_before_a_snippet_is_no_fault_of_it(snippets: Snippets) -> None:
    fine = await snippets.run("python", "assert double(2) == 4", {}, before="def double(x): return 2 * x")
    wrong = await snippets.run("python", "assert double(2) == 4", {}, before="def double(x): return x")
    unread = await snippets.run("python", "assert double(2) == 4", {}, before="Sorry, I cannot do that.")
    assert fine == Ran(None)
    assert isinstance(wrong, SnippetError)
    assert (wrong.kind, wrong.name) == ("raised", "AssertionError")
    assert isinstance(unread, SnippetError)
    assert (unread.kind, unread.name) == ("raised", "SyntaxError")
    assert unread.error.startswith("the code before: line 1: ")


@pytest.mark.parametrize("language", LANGUAGES)
async def test_code_that_is_too_long_is_refused(snippets: Snippets, language: Language) -> None:
    found = await snippets.run(language, "1 " * 60_000, {})
    assert found == SnippetError("unsupported", "code of more than 100,000 characters")


async def test_odd_characters_reach_both_languages_whole(snippets: Snippets) -> None:
    text = "é\u2028\u2029\x00\U0001f600\\\"'\n</script>${x}"
    assert await snippets.run("python", "output", {"output": text}) == Ran(text)
    assert await snippets.run("javascript", "output", {"output": text}) == Ran(text)


async def test_equal_needs_run_once_and_each_gets_its_own_answer(snippets: Snippets) -> None:
    needs = [SnippetNeed("javascript", "n * 2", f'{{"n": {number % 10}}}') for number in range(40)]
    found = await snippets.fetch(needs)
    assert len(found) == 10
    assert all(answer == Ran(int(need.variables[6]) * 2) for need, answer in found.items())


@pytest.mark.parametrize("language", LANGUAGES)
async def test_what_one_of_several_snippets_does_is_nothing_to_the_others(language: Language) -> None:
    spoils: dict[Language, str] = {
        "python": "n = 7\nmath = 8\nn",
        "javascript": "globalThis.n = 7; Object.keys = () => []; return 7",
    }
    codes = [LOOPS[language], spoils[language], "n + 1", "nowhere", *(f"n + {number}" for number in range(2, 40))]
    needs = [SnippetNeed(language, code, '{"n": 1}') for code in codes]
    async with Snippets(limits=BRIEF) as snippets:
        found = await snippets.fetch(needs)
    loops, spoilt, *others = (found[need] for need in needs)
    assert isinstance(loops, SnippetError)
    assert loops.kind == "time-limit"
    assert spoilt == Ran(7)
    assert isinstance(others.pop(1), SnippetError)
    assert others == [Ran(number + 1) for number in range(1, 40)]


@linux
@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_cancelled_snippet_leaves_no_process_and_no_answer_for_the_next(language: Language) -> None:
    before = children()
    async with Snippets(limits=Limits(seconds=20)) as snippets:
        assert await snippets.run(language, "1", {}) == Ran(1)
        with anyio.fail_after(HANG_S):
            with anyio.move_on_after(0.2) as scope:
                await snippets.run(language, LOOPS[language], {})
            assert scope.cancelled_caught or language == "python"
            assert await snippets.run(language, "2", {}) == Ran(2)
    assert children() <= before


@linux
@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_process_that_was_killed_is_replaced(language: Language) -> None:
    before = children()
    async with Snippets() as snippets:
        assert await snippets.run(language, "1", {}) == Ran(1)
        for process in children() - before:
            os.kill(process, signal.SIGKILL)
        with anyio.fail_after(HANG_S):
            await snippets.run(language, "2", {})
            assert await snippets.run(language, "3", {}) == Ran(3)


@linux
async def test_the_processes_see_no_environment_and_are_confined() -> None:
    before = children()
    async with Snippets() as snippets:
        for language in LANGUAGES:
            await snippets.run(language, "1", {})
        for process in children() - before:
            home = Path(f"/proc/{process}")
            names = [one.partition("=")[0] for one in (home / "environ").read_text().split("\0")]
            assert set(names) <= {"", "LC_CTYPE"}, names
            assert "NoNewPrivs:\t1" in (home / "status").read_text()
            limits = (home / "limits").read_text().splitlines()
            (written,) = (line.split()[3] for line in limits if line.startswith("Max file size"))
            assert written == "0"


async def test_no_process_is_started_without_a_snippet() -> None:
    async with Snippets() as snippets:
        assert await snippets.fetch([]) == {}
        assert snippets._python._pool is None  # pyright: ignore[reportPrivateUsage]  a process more would be the only sign


def worker(code: str) -> tuple[str, ...]:
    """A worker that is not ours: it says that it is ready, reads one request, then does what the code says."""
    return (sys.executable, "-I", "-c", f"import sys; print('ready', flush=True); sys.stdin.readline(); {code}")


@pytest.mark.parametrize(
    "code",
    ["sys.exit(1)", "print('nonsense', flush=True)", "print('[]', flush=True)", "print('x' * 20_000, flush=True)"],
)
async def test_a_worker_that_dies_or_talks_nonsense_costs_one_request(code: str) -> None:
    async with Workers(worker(code), 1, 10_000) as workers:
        with anyio.fail_after(HANG_S):
            for _ in range(2):
                with pytest.raises(WorkerDiedError):
                    await workers.ask({}, seconds=HANG_S)


@pytest.mark.parametrize(
    "command", [("/no/such/program",), (sys.executable, "-I", "-c", "import sys; sys.stdin.read()")]
)
async def test_a_worker_that_does_not_start_is_no_hang(command: tuple[str, ...]) -> None:
    async with Workers(command, 1, 100, start_seconds=0.1) as workers:
        with anyio.fail_after(HANG_S), pytest.raises(WorkerDiedError):
            await workers.ask({}, seconds=HANG_S)


async def test_a_worker_that_does_not_answer_is_killed() -> None:
    slow = await Worker.started(worker("sys.stdin.read()"), longest=100, seconds=HANG_S)
    async with Workers(worker(""), 1, 100, idle=[slow]) as workers:
        with anyio.fail_after(HANG_S), pytest.raises(TimeoutError):
            await workers.ask({}, seconds=0.1)
        assert slow.process.returncode is not None
        assert workers.idle == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(JSON.filter(lambda value: "\\ud" not in repr(value)))
def test_a_result_that_is_json_comes_back_as_it_is(value: JsonValue) -> None:
    assert returned(value, Limits()) == Ran(value)


def test_a_result_is_bounded_whatever_it_shares_or_holds() -> None:
    shared: list[object] = []
    for _ in range(DEEPEST_RESULT - 1):
        shared = [shared, shared]
    own: list[object] = []
    own.append(own)
    kinds = [
        found.kind
        for found in (returned(one, BRIEF) for one in (shared, ["x" * 1_001], [0] * 1_001))
        if isinstance(found, SnippetError)
    ]
    assert kinds == ["output-limit"] * 3
    assert isinstance(returned(own, BRIEF), SnippetError)
    assert isinstance(returned({True: 1}, BRIEF), SnippetError)
