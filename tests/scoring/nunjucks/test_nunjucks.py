"""Nunjucks templates: what the real one makes of each (nunjucks 3 as promptfoo configures it), and what is refused by name."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.errors import BadInputError, EvalsError, UnsupportedError
from minions_evals_mcp.scoring.nunjucks.templates import prompt_text, rendered, vet_template

VARIABLES: dict[str, JsonValue] = {
    "b": True, "n": 5, "f": 1.0, "nul": None, "l": [[1, 2], 3], "o": {"k": "v", "n": 1}, "emp": {}, "el": [], "s": "Abc", "z": 0,
}  # fmt: skip
TOLD = (
    ("[{{b}}][{{n}}][{{f}}][{{nul}}][{{l}}][{{o}}][{{missing}}]", "[true][5][1][][1,2,3][[object Object]][]"),
    ("[{{o.k}}][{{missing.a.b}}][{{s[0]}}][{{l[0][1]}}][{{s[9]}}][{{o.items}}]", "[v][][A][2][][]"),
    ("{{o|dump}} {{o|dump(2)}}", '{"k":"v","n":1} {\n  "k": "v",\n  "n": 1\n}'),
    ("{% if emp %}T{% else %}F{% endif %}{% if el %}T{% else %}F{% endif %}{% if z %}T{% endif %}", "TT"),
    ("{{ 1 + '2' }} {{l.length}} {{s|upper|replace('A','b')}} {{ 'a' + none }} {{ missing + 'x' }}", "12 2 bBC anull undefinedx"),
    ("{% for k, v in o %}{{k}}={{v}};{% endfor %}{% for x in o %}{{x}}{% endfor %}", "k=v;n=1;"),
    ("{% for x in el %}{% else %}none{% endfor %}{% for x in s %}{{loop.index}}{{x}}{% endfor %}", "none1A2b3c"),
    ("{{ 'a' if '1' == 1 else 'z' }}|{{ 7/2 }}|{{ 4/2 }}|{{ s ~ 1 }}|{{ 3 // 2 }}|{{ 2 ** 3 }}|{{ 7 % 4 }}", "a|3.5|2|Abc1|1|8|3"),
    ("{{ b == 1 }} {{ '' == 0 }} {{ el == el }} {{ nul == missing }} {{ n != 5 }}", "true true true true false"),
    ("{{ [{a: 'b'}, {a: 'A'}]|sort(false, true, 'a')|join(' ', 'a') }} {{ ['b', 'A', 'c']|sort(true) }}", "A b c,b,A"),
    ("{{ ''|int }}|{{ 'x'|float }}|{{ 'x'|int(7) }}|{{ '3.70'|float }}", "||7|3.7"),
    ("{{ 2.50|round }}|{{ 'x y'|title }}|{{ 'aB'|capitalize }}|{{ l|join('-') }}", "3|X Y|Ab|1,2-3"),
    ("{{ nul|default('d') }}|{{ ''|default('e') }}|{{ ''|default('e', true) }}|{{missing|default('m')}}", "||e|m"),
    ("{{ 3.7|int }}|{{ '3'|float }}|{{ 'A' in s }}|{{ true and 0 }}|{{ not '' }}|{{ z or 'd' }}", "3|3|true|0|true|d"),
    ("{{ [3,1,2]|sort }}|{{ [1,2,3]|sum }}|{{ 'abcdef'|truncate(3) }}|{{ ' x '|trim }}", "1,2,3|6|abc...|x"),
    ("{{ 'a b/c'|urlencode }}|{{ 'a b c'|wordcount }}|{{ [1,2]|last }}|{{ [1,2]|reverse }}|{{ 'ab'|reverse }}", "a%20b%2Fc|3|2|2,1|ba"),
    ("{% set x = 5 %}{{x}}{% set y %}abc{% endset %}{{y}}{# c #}{% raw %}{{x}}{% endraw %}{{- ' t ' -}}  z", "5abc{{x}} t z"),
    ("{{ 0.1 + 0.2 }} {{ 10 > 9 }} {{ 'a' < 'b' }} {{ n - 1 }} {{ n * 1.5 }}", "0.30000000000000004 true true 4 7.5"),
    ("{{ n is number }} {{ nul is none }} {{ missing is defined }} {{ range(3) }}", "true true false 0,1,2"),
    ("{{ 5|string }}{{ 'abc'|list }}{{ l|length }}{{ o|length }}{{ nul|length }}{{ '<a>'|escape }}", "5a,b,c220&lt;a&gt;"),
    ("{{ '\U0001f600a'|length }}{{ '\U0001f600a'.length }}{{ '\u00e9'|length }}", "331"),
    ("{{ true ~ none ~ 'x' ~ missing ~ [1, 2] }}", "truenullxundefined1,2"),
    ("{{ s }}\n", "Abc\n"),
    ("[{{ ''|wordcount }}]", "[]"),
    ("Title\n=====\nleft {{ open", "Title\n=====\nleft {{ open"),
    (
        "{{ 9 ** 9999 }} {{ 1/0 }} {{ 'x' * 3 }} {{ 2 ** 64 }} {{ nul + 1 }} {{ 1 < 2 < 3 }}",
        "Infinity Infinity NaN 18446744073709552000 1 true",
    ),
    ("{{ n === 5 }}{{ n === '5' }}{{ n !== '5' }}{{ nul === null }}{{ missing === null }}", "truefalsetruetruefalse"),
    ("{% if not s == 'x' %}T{% else %}F{% endif %}{% if not (s == 'x') %}T{% endif %}", "FT"),
    ("{{ 'a' ~ 1 + 2 }} {{ 2 * 7 % 4 }} {{ 7 // 2 % 2 }} {{ n + 1 is even }} {{ not n in [5] }}", "a12 2 1 true false"),
    ("{% set t = 0 %}{% for x in [1, 2] %}{% set t = t + x %}{% set u = x %}{% endfor %}{{ t }}[{{ u }}]", "3[]"),
    ("{% macro m(a, b='d') %}{{ a }}{{ b }}{{ s }}{% endmacro %}{{ m(1) }} {{ m(b=2, a=3) }} {{ m() }}", "1dAbc 32Abc dAbc"),
    ("{% macro w(t) %}<{{ t }}>{{ caller('in') }}{% endmacro %}{% call(x) w('p') %}{{ x }}{{ n }}{% endcall %}", "<p>in5"),
    (
        "{% switch n %}{% case 1 %}a{% case 5 %}{% case 6 %}b{% default %}c{% endswitch %}"
        "{% switch '5' %}{% case 5 %}x{% default %}y{% endswitch %}",
        "by",
    ),
    ("{% filter upper %}a{{ s }}{% endfilter %}{% if z %}a{% elseif n %}b{% endif %}{% block q %}{{ n }}{% endblock %}", "AABCb5"),
    ("{% for k, g in [{a: 'x', b: 1}, {a: 'y', b: 0}, {a: 'x', b: 2}]|groupby('a') %}{{ k }}{{ g|length }}{% endfor %}", "x2y1"),
    (
        "{{ [{b: 1}, {b: 0}]|selectattr('b')|dump }}{{ [{b: 1}, {b: 0}]|rejectattr('b')|dump }}{{ [1, 2]|select('odd') }}",
        '[{"b":1}][{"b":0}]1',
    ),
    ("{% for k, v in {b: 1, a: 3, C: 2}|dictsort %}{{ k }}{% endfor %}{{ {b: 1, a: 3}|dictsort(false, 'value') }}", "abCb,1,a,3"),
    (
        "{{ [1, 2, 3]|batch(2)|dump }}{{ [1, 2, 3]|slice(2)|dump }}[{{ 'ab'|center(5) }}]{{ '<b>x</b>  y'|striptags }}",
        "[[1,2],[3]][[1,2],[3]][ ab  ]x y",
    ),
    (
        "{{ 'a bc def'|truncate(4) }} {{ [1, 2]|sort(reverse=true) }} {{ [{p: 1}]|sum('p') }} {{ (1.005).toFixed(2) }} {{ f.toFixed(1) }}",
        "a bc... 2,1 1 1.00 1.0",
    ),
    ("{% set c = cycler('a', 'b') %}{% set j = joiner('|') %}{% for x in l %}{{ j() }}{{ c.next() }}{% endfor %}", "a|b"),
    ("{% for b, q in l %}{{ b }}-{{ q }};{% endfor %}{% for x in l if z %}{{ x }}{% endfor %}{{ True }}", "1-2;-;"),
    ("{{ ''.__class__ }}{{ s.__init__ }}{{ o.__class__ }}", ""),
)  # fmt: skip


@pytest.mark.parametrize(("template", "said"), TOLD)
def test_a_template_comes_out_as_nunjucks_renders_it(template: str, said: str) -> None:
    assert rendered(template, VARIABLES) == said


FOX = "The quick brown fox"
WITH_EXPRESSIONS = (
    ("{{ f|replace(r/[aeiou]/g, '*') }} {{ f.replace(r/O/i, '0') }}", "Th* q**ck br*wn f*x The quick br0wn fox"),
    ("{% set e = r/o/g %}{{ e.test(f) }}{{ e.test(f) }}{{ e.test(f) }}{{ r/^the/i.test(f) }}", "truetruefalsetrue"),
    ("{{ f.match(r/(q\\w+) (\\w+)/) }} {{ f.match(r/zz/) }} {{ f.match(r/o/g)|length }}", "quick brown,quick,brown  2"),
    ("{{ f.replace(r/(\\w+) (\\w+)/, '$2 $1 $$ $& $9') }}", "quick The $ The quick $9 brown fox"),
    ("{{ f.split(r/\\s+/)|join('|') }} {{ f.split(r/(o)/)|length }} {{ f.search(r/q/) }}", "The|quick|brown|fox 5 4"),
    ("{{ r/a\\/b/gi }} {{ 8 / 2 }} {{ 'x//y'|replace(r/\\//g, '-') }}", "/a/b/gi 4 x--y"),
    ("{{ 'abc'.split(r/(?:)/)|dump }} {{ 'ab'|replace(r/x*/g, '-') }}", '["a","b","c"] -a-b-'),
)


@pytest.mark.parametrize(("template", "said"), WITH_EXPRESSIONS)
def test_a_regular_expression_does_what_javascripts_does(template: str, said: str) -> None:
    assert rendered(template.replace("\\\\", "\\"), {"f": FOX}) == said


@pytest.mark.parametrize(
    ("template", "named"),
    [
        ("{{ s.normalize() }}", "the method normalize()"),
        ("{{ s|foo }}", "the filter 'foo'"),
        ("{{ s|urlize }}", "the filter 'urlize'"),
        ("{{ l|join(separator='-') }}", "the filter 'join' with names"),
        ("{{ s is sequence }}", "the test 'sequence'"),
        ("{% do x %}", "unknown tag 'do'"),
        ("a\n{% switch s %}{% nothing %}{% endswitch %}", "line 2 of the template"),
        ("an odd {{Ω} text", "{% raw %}"),
        ("{% include 'x' %}", "the tag 'include'"),
        ("{{ env.HOME }}", "env outside a provider's config"),
        ("{{ s|replace(r/(?=a)/g, 'b') }}", "look-around, back-references"),
        ("{{ r/a/y.test(s) }}", "the flag y"),
        ("{{ __repeatIndex }}", "__repeatIndex, which says where"),
    ],
)
def test_what_differs_is_refused_by_name(template: str, named: str) -> None:
    with pytest.raises(UnsupportedError) as refused:
        vet_template(template)
    assert named in refused.value.message


@pytest.mark.parametrize(
    "template",
    ["{% for i in range(99999999) %}x{% endfor %}", "{{ n|join }}", "{{ 5|upper }}", "{{ gone() }}",
     "{{ 'ab'|join }}", "{{ gone|trim }}", "{{ n|trim }}",
     "{{ 's'|replace('s', s, n, n) }}"],
)  # fmt: skip
def test_what_has_no_value_is_an_error_and_not_a_text(template: str) -> None:
    with pytest.raises(BadInputError):
        rendered(template, VARIABLES)


DOUBLED = "{% set x = [1] %}{% set y = [1] %}" + "{% set x = [x, x] %}{% set y = [y, y] %}" * 40
GROWN = "{% set x = 'aaaaaaaaaa' %}"


@pytest.mark.parametrize(
    "template",
    [
        "{% for a in range(3000) %}{% for b in range(3000) %}{% for c in range(3000) %}{% endfor %}{% endfor %}{% endfor %}",
        "{% for a in range(3000) %}{% for b in range(3000) %}{% for c in range(3000) %}{{ a }}{% endfor %}{% endfor %}{% endfor %}",
        "{% for a in range(90000) %}{{ 'x' in range(100000) }}{% endfor %}",
        "{% for a in range(3000) %}{{ range(100000)|sum }}{% endfor %}",
        "{% for a in range(9000) %}{% for b in range(9000) %}{{ loop.length }}{% endfor %}{% endfor %}",
        *(DOUBLED + use for use in ("{{ x }}", "{{ x|dump }}", "{{ x|sort }}", "{{ x|sum }}", "{{ x in [y] }}", "{{ x < y }}")),
        "{% set x = {'a': 1} %}" + "{% set x = {'a': x, 'b': x} %}" * 40 + "{{ x|dump }}",
        GROWN + "{% set x = x ~ x %}" * 40,
        GROWN + "{% set x = x + x %}" * 40,
        GROWN + "{% set x %}{{ x }}{{ x }}{% endset %}" * 40,
        GROWN + "{% set x = x|replace('a', x) %}" * 40,
        GROWN + "{% set x = [x, x, x]|join(x) %}" * 40,
        GROWN + "{% set x = x + x %}" * 15 + "{% for a in range(3000) %}{{ x|escape }}{% endfor %}",
        GROWN + "{% set x = x + x %}" * 16 + "{{ x|replace('a', '\\n')|indent(100) }}",
    ],
)  # fmt: skip
def test_a_template_that_would_work_for_ever_or_fill_the_memory_is_stopped(template: str) -> None:
    with pytest.raises(BadInputError, match=r"it takes more than|makes more than"):
        rendered(template, {})


def test_what_opens_and_never_closes_is_found_in_time_that_grows_with_the_text_only() -> None:
    text = "{{ " * 200_000 + "}\n{% open"
    assert rendered(text, {}) == text


def test_a_long_document_is_rendered_whole() -> None:
    assert len(rendered("{{ a }}{{ a }}", {"a": "word " * 800_000})) == 8_000_000


def test_in_a_prompt_that_is_json_each_text_is_rendered_and_none_can_break_out() -> None:
    prompt = prompt_text('[{"role": "user", "content": "hi {{ q }}"}]', {"q": 'say "x"'})
    assert json.loads(prompt) == [{"role": "user", "content": 'hi say "x"'}]


def test_what_stands_around_a_prompt_is_rendered_with_it() -> None:
    assert prompt_text("{{ w }}", {"w": "cat", "__prefix": "<{{ w }} ", "__suffix": ">"}) == "<cat cat>"


def test_a_value_is_never_rendered_again() -> None:
    assert rendered("{{ w }}", {"w": "{{ 7 * 7 }}"}) == "{{ 7 * 7 }}"


@given(st.text(alphabet="{}%#|.()[]'\"=<>+-*/ abslo1 \n", max_size=40))
def test_any_text_renders_or_is_refused(template: str) -> None:
    with suppress(EvalsError):
        assert isinstance(rendered(template, VARIABLES), str)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ s.toUpperCase() }}{{ s.toLowerCase() }}", " ADA  ada "),
        ("[{{ s.trim() }}][{{ s.trimStart() }}][{{ s.trimEnd() }}]", "[Ada][Ada ][ Ada]"),
        (
            "{{ s.slice(1, 3) }} {{ s.slice(-3) }}|{{ s.substring(3, 1) }} {{ s.at(-2) }} {{ s.charAt(1) }}",
            "Ad da |Ad a A",
        ),
        ("{{ 'a-b-a'.replace('a', 'x') }} {{ 'a-b-a'.replaceAll('a', 'x') }}", "x-b-a x-b-x"),
        (
            "{{ 'a-b'.split('-').join('+') }} {{ 'ab'.split('') }} {{ l.slice(1) }} {{ l.join(' / ') }}",
            "a+b a,b 2,x 1 / 2 / x",
        ),
        (
            "{{ s.includes('Ad') }} {{ l.includes(2) }} {{ l.indexOf('x') }} {{ s.startsWith(' ') }} {{ s.endsWith('z') }}",
            "true true 2 true false",
        ),
        (
            "{{ '7'.padStart(3, '0') }} {{ '7'.padEnd(3) }}| {{ 'ab'.repeat(2) }} {{ 'a'.concat('b', 1) }}",
            "007 7  | abab ab1",
        ),
        ("{{ o.slice }} {{ o.at }}", "own "),
    ],
)
def test_methods_of_texts_and_lists_are_javascripts(template: str, said: str) -> None:
    assert rendered(template, {"s": " Ada ", "l": [1, 2, "x"], "o": {"slice": "own"}}) == said


@pytest.mark.parametrize(
    "template", ["{{ s.replace('a', '$&') }}", "{{ s.trim }}", "{{ s.repeat(99999999) }}", "{{ s.slice({}) }}"]
)
def test_a_method_that_is_not_carried_out_as_there_is_an_error(template: str) -> None:
    with pytest.raises(BadInputError):
        rendered(template, {"s": "abc"})


def test_a_prompt_that_opens_what_its_line_does_not_close_is_text_and_an_assertion_goes_on() -> None:
    open_line = "{{\n s|upper\n}}"
    assert rendered(open_line, {"s": "a"}) == open_line
    assert rendered(open_line, {"s": "a"}, prompt=False) == "A"
    with pytest.raises(UnsupportedError):
        rendered("{{ s", {"s": "a"}, prompt=False)
