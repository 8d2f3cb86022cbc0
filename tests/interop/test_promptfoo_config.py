"""Configs of promptfoo: what is read of them, what is refused with file and line, and what a hostile one cannot do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.engine.config_eval.evaluation import AddressSpec, Evaluation, ModelSpec, ProgramSpec, SelectBest
from minions_evals_mcp.errors import BadInputError, EvalsError, UnsupportedError
from minions_evals_mcp.interop.promptfoo_config.config import ConfigOverrides, read_config
from minions_evals_mcp.scoring.max_score import MaxScore
from minions_evals_mcp.scoring.reserved_inputs import COMPUTED
from tests.shared.presentation.typed import typed
from tests.workshop import START

PICTURE = '[{"role":"user","content":[{"type":"image_url","image_url":"x"}]},{"role":"assistant","content":"b"}]'
HEAD = "prompts: ['{{w}}']\nproviders: [echo]\n"


def read(folder: Path, text: str, *, allow: bool = False) -> Evaluation:
    """What the config in that text asks for."""
    (folder / "c.yaml").write_text(text)
    return read_config(folder / "c.yaml", now=START, overrides=ConfigOverrides(allow_unsupported=allow))


def cases(found: Evaluation) -> list[TestCase]:
    kinds = {one.record.id: one.record.fields for one in found.arrivals}
    return [fields for ident in found.case_ids if isinstance(fields := kinds[ident], TestCase)]


def variables(found: Evaluation) -> list[dict[str, JsonValue]]:
    return [case.inputs for case in cases(found)]


def prompts(found: Evaluation) -> list[str]:
    kinds = {one.record.id: one.record.fields for one in found.arrivals}
    return [fields.content for one in found.columns if isinstance(fields := kinds[one.version_id], PromptVersion)]


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(EvalsError) as refused:
        read(folder, text)
    return typed(refused.value.message_text)


def test_bare_words_mean_what_they_mean_to_promptfoo(tmp_path: Path) -> None:
    found = read(tmp_path, HEAD + "tests: [{vars: {w: yes, t: 12:30, d: 2026-01-31, o: 010, b: true, n: 1.0}}]\n")
    assert variables(found) == [{"w": "yes", "t": "12:30", "d": "2026-01-31", "o": 10, "b": True, "n": 1.0}]


def test_lists_of_texts_are_spread_over_tests_and_other_lists_are_not(tmp_path: Path) -> None:
    text = (
        HEAD
        + "tests: [{vars: {w: [a, b], x: [c, d], n: [1, 2]}}, {vars: {w: [a, b]}, options: {disableVarExpansion: true}}]\n"
    )
    assert variables(read(tmp_path, text)) == [
        *({"w": w, "x": x, "n": [1, 2]} for w in "ab" for x in "cd"),
        {"w": ["a", "b"]},
    ]


def test_variables_are_filled_by_each_other_and_from_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(" text \n")
    (tmp_path / "b.yaml").write_text("k: [1, x]\n")
    (tmp_path / "docs").mkdir()
    for name in ("2", "1"):
        (tmp_path / "docs" / f"{name}.md").write_text(f"doc {name}")
    text = (
        HEAD
        + "tests: [{vars: {w: 'hi {{name | upper}} {{gone}}', v: '{{x}}!', x: why, f: file://a.txt, y: file://b.yaml, g: 'file://docs/*.md'}}]\n"
    )
    first, second = variables(read(tmp_path, text))
    assert first == {
        "w": "hi {{name | upper}} {{gone}}",
        "v": "why!",
        "x": "why",
        "f": "text",
        "y": '{"k":[1,"x"]}',
        "g": "doc 2",
    }
    assert second["g"] == "doc 1"


def test_the_default_test_and_scenarios_are_merged_into_each_test(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
defaultTest: {vars: {w: base, z: 1}, threshold: 0.5, assert: [{type: contains, value: d}], metadata: {team: a}}
tests:
  - {vars: {w: own}, assert: [{type: contains, value: t}], threshold: 0.9}
  - {options: {disableDefaultAsserts: true}}
scenarios:
  - config: [{vars: {w: one}, assert: [{type: contains, value: s}]}, {vars: {w: two}}]
    tests: [{vars: {q: 1}}, {vars: {q: 2}, assert: [{type: contains, value: t}]}]
"""
    )
    found = cases(read(tmp_path, text))
    assert [case.inputs for case in found] == [
        {"w": "own", "z": 1},
        {"w": "base", "z": 1},
        *({"w": w, "z": 1, "q": q} for w in ("one", "two") for q in (1, 2)),
    ]
    assert [[str(one.value) for one in case.assertions] for case in found] == [
        ["d", "t"], [], ["d", "s"], ["d", "s", "t"], ["d"], ["d", "t"],
    ]  # fmt: skip
    assert [case.threshold for case in found] == [0.9, 0.5, 0.5, 0.5, 0.5, 0.5]
    assert {case.tags for case in found} == {("team:a",)}


def test_tests_come_from_csv_json_lines_json_and_yaml(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "w,__expected1,__expected2,__config:__expected2:threshold,__prefix,__description,__metadata:tags[],__threshold,__metric\n"
        'cat,"icontains-any: a, b","similar(0.7): x",0.6,P ,First,"a,b",0.4,m\n'
        "dog,plain text,not-contains: x,,,,,,\n"
    )
    (tmp_path / "t.jsonl").write_text('{"vars": {"w": "l1"}}\n\n{"vars": {"w": "l2"}}\n')
    (tmp_path / "t.json").write_text(json.dumps([{"vars": {"w": "j"}}]))
    (tmp_path / "t.yaml").write_text("- vars: {w: y}\n- vars: v.yaml\n")
    (tmp_path / "v.yaml").write_text("w: v\n")
    found = read(
        tmp_path, HEAD + "tests: [file://t.csv, t.jsonl, file://t.json, 'file://t.y*ml', {vars: {w: inline}}]\n"
    )
    assert [case.inputs["w"] for case in cases(found)] == ["cat", "dog", "l1", "l2", "j", "y", "v", "inline"]
    first, second, *_ = cases(found)
    assert (first.name, first.threshold, first.tags, first.inputs["__prefix"]) == (
        "First",
        0.4,
        ("tags:a", "tags:b"),
        "P ",
    )
    assert [(one.type, one.value, one.threshold, one.metric) for one in first.assertions] == [
        ("icontains-any", ["a", "b"], None, "m"), ("similar", "x", 0.6, "m"),
    ]  # fmt: skip
    assert [(one.type, one.value) for one in second.assertions] == [("equals", "plain text"), ("not-contains", "x")]


def test_prompts_are_texts_files_lists_and_mappings(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("one {{w}}\n---\ntwo {{w}}\n")
    (tmp_path / "p.md").write_text("# three\n---\nstill three\n")
    text = """
providers: [echo, {id: echo, label: second, prompts: [named, other]}]
prompts: [p.txt, file://p.md, plain, {id: other, label: x, raw: 'raw {{w}}'}, {label: named, raw: four}]
"""
    found = read(tmp_path, text)
    assert prompts(found) == [
        "one {{w}}",
        "two {{w}}",
        "# three\n---\nstill three\n",
        "plain",
        "raw {{w}}",
        "four",
        "raw {{w}}",
        "four",
    ]
    assert [one.prompt_label for one in found.columns][:4] == ["p.txt #1", "p.txt #2", "p.md", "plain"]
    mapping = read(tmp_path, "providers: echo\nprompts: {file://p.md: M, text: T}\n")
    assert [one.prompt_label for one in mapping.columns] == ["M", "T"]


def test_assertions_are_filled_with_the_variables_of_their_test_and_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text('{"required": ["a"]}')
    (tmp_path / "check.py").write_text("def get_assert(output, context):\n    return len(output) > 3\n")
    (tmp_path / "check.js").write_text("module.exports = {long: (output) => output.length > 3};\n")
    text = (
        HEAD
        + """
assertionTemplates: {polite: {type: icontains, value: 'dear {{w}}'}}
tests:
  - vars: {w: [cat, dog]}
    assert:
      - {$ref: '#/assertionTemplates/polite'}
      - {type: contains-any, value: ['{{w}}', 3]}
      - {type: contains-json, value: file://schema.json}
      - {type: python, value: file://check.py}
      - {type: javascript, value: 'file://check.js:long'}
      - {type: max-score, value: {method: sum}}
      - {type: select-best, value: 'best for {{w}}'}
"""
    )
    found = read(tmp_path, text)
    first, second = cases(found)
    assert [one.value for one in first.assertions[:3]] == ["dear cat", ["cat", 3], {"required": ["a"]}]
    assert second.assertions[0].value == "dear dog"
    assert str(first.assertions[3].value).endswith("return get_assert(output, context)")
    assert "(found.long ?? found.default.long)(output, context)" in str(first.assertions[4].value)
    assert found.choosers[found.case_ids[1]] == (MaxScore(method="sum"), SelectBest(criterion="best for dog"))


def test_providers_are_set_up_by_their_config(tmp_path: Path) -> None:
    text = """
prompts: [a]
providers:
  - openai:chat:gpt-4o-mini
  - {id: 'anthropic:messages:claude-x', config: {temperature: 0, max_tokens: 5, apiKeyEnvar: KEY}}
  - 'google:gemini-x': {config: {top_p: 0.5}}
  - 'exec: run "a b" c'
  - {id: 'https://example.test/{{w}}', config: {queryParams: {q: '{{prompt}}'}, headers: {x: '{{env.TOKEN}}'}, body: '{"p": "{{prompt}}"}'}}
"""
    found = read(tmp_path, text)
    specs = [one.provider.spec for one in found.columns]
    assert specs[:3] == [
        ModelSpec(model="openai:gpt-4o-mini", max_tokens=2048),
        ModelSpec(model="anthropic:claude-x", max_tokens=5, params={"temperature": 0}, api_key="{{env.KEY}}"),
        ModelSpec(model="gemini:gemini-x", max_tokens=2048, params={"top_p": 0.5}),
    ]
    assert specs[3] == ProgramSpec(command=("run", "a b", "c"), folder=str(tmp_path.resolve()))
    assert isinstance(specs[4], AddressSpec)
    assert (specs[4].method, specs[4].body) == ("POST", {"p": "{{prompt}}"})
    assert found.variables == {"KEY", "TOKEN"}
    assert "{{env.KEY}}" not in found.columns[1].provider.identity()


def test_ids_follow_from_what_is_said(tmp_path: Path) -> None:
    one = read(tmp_path, HEAD + "tests: [{vars: {w: a}}, {vars: {w: a}}, {vars: {w: b}}]\n")
    other = read(tmp_path, HEAD + "description: again\ntests: [{vars: {w: b}, description: named}]\n")
    assert len(set(one.case_ids)) == 3
    assert one.case_ids[1] == f"{one.case_ids[0]}-2"
    assert other.case_ids == (one.case_ids[2],)
    assert other.columns[0].version_id == one.columns[0].version_id


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (HEAD + "nunjucksFilters: {f: x.js}", "c.yaml:3: nunjucksFilters"),
        (HEAD + "tests: [{vars: {w: .inf}}]", "it holds what is no JSON value, such as .inf"),
        (HEAD + "tests: [{assert: [{type: similar, value: file://x.py}]}]", "similar takes no value from code"),
        (HEAD + "extensions: [file://x.js:hook]", "c.yaml:3: extensions"),
        (HEAD + "tests: [{vars: {w: '{{env.NOT_SET}}'}}]", "tests.0.vars.w: the environment variable NOT_SET is not set"),
        (HEAD + "env: {API_KEY: a}\ntests: [{vars: {w: '{{env.API_KEY}}'}}]", "would be kept in clear"),
        (HEAD + "tests:\n  - vars: {w: a}\n    provider: 'bedrock:x'\n", "c.yaml:5: tests.0.provider: the provider bedrock:x"),
        (HEAD + "tests:\n  - vars: {w: a}\n    providers: [echo, x]\n", "c.yaml:5: tests.0.providers.1: 'x' names none of the providers"),
        (HEAD + "tests: [{prompts: [p]}]", "tests.0.prompts.0: 'p' names none of the prompts"),
        (HEAD + "tests: [{vras: {w: a}}]", "tests.0.vras: promptfoo does not read it; do you mean vars?"),
        (HEAD + "test: []", "c.yaml:3: test: promptfoo does not read it; do you mean tests?"),
        (HEAD + "tests: [{assert: [{type: contains, vaule: a}]}]", "tests.0.assert.0.vaule: promptfoo does not read it"),
        ("prompts: [a]\nproviders: [{id: 'openai:z', config: {apiVersion: b}}]", "config.apiVersion"),
        ("prompts: [a]\nproviders: [{id: 'openai:z', config: {headers: {x-team: a}}}]", "providers.0.config.headers"),
        (HEAD + "defaultTest: {options: {provider: {config: {timeout: 1}}}}\ntests: [{assert: [{type: llm-rubric, value: a}]}]",
         "only a model's id, or {id, config}, is supported as a judge"),
        (HEAD + "tests: [{vars: {w: a}, options: {transform: file://t.js}}]", "tests.0.options.transform"),
        (HEAD + "tests: [{vars: {w: file://gen.js}}]", "gen.js: JavaScript makes parts"),
        (HEAD + "tests: [{path: t.csv, config: {a: 1}}]", "only code is given a config"),
        (HEAD.replace("'{{w}}'", "'file://gen.js:say'"), "gen.js: JavaScript makes parts"),
        (HEAD.replace("'{{w}}'", "'file://gen.ts:say'"), "gen.ts: JavaScript makes parts"),
        (HEAD + "tests: [{assert: [{type: contains, value: a, provider: x}]}]", "tests.0.assert.0.provider"),
        (HEAD + "tests: [{assert: [{type: search-rubric}]}]", "tests.0.assert.0: the assertion type 'search-rubric'"),
        (HEAD + "tests: file://gen.js:make", "gen.js: JavaScript makes parts"),
        (HEAD + "tests: https://docs.google.com/x", "docs.google.com"),
        ("prompts: [a]\nproviders: ['openai:realtime:x', 'bedrock:y', {id: 'openai:z', config: {tools: []}}]", "openai:realtime:x"),
        ("prompts: [a]\nproviders: ['file://x.js']", "x.js: JavaScript makes parts"),
        ("prompts: ['{{ w.normalize() }}']\nproviders: [echo]", "the method normalize()"),
        (f"prompts: ['{PICTURE}']\nproviders: ['openai:x']", "with parts that are no text"),
        (HEAD + "derivedMetrics: [{name: a, value: 'file://x.py'}]", "c.yaml:3: derivedMetrics.0"),
    ],
)  # fmt: skip
def test_what_is_not_carried_out_is_refused_by_name(tmp_path: Path, text: str, named: str) -> None:
    for name in ("t.csv", "gen.js"):
        (tmp_path / name).write_text("w\na\n")
    assert named in refusal(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (HEAD + "passRateThreshold: 0.9", "passRateThreshold"),
        (HEAD + "assert: [{type: regex, value: a}]", "assert"),
        (HEAD + "tests: [{name: n, vars: {w: a}}]", "tests.0.name"),
        (HEAD + "tests: [{vars: {w: a}, repeat: 3}]", "tests.0.repeat"),
        (HEAD + "tests: [{vars: {w: a}, options: {retries: 3}}]", "tests.0.options.retries"),
        (HEAD + "tests: [{assert: [{type: contains, value: a, severity: high}]}]", "tests.0.assert.0.severity"),
        (HEAD + "tests: [{vars: {w: a}, options: {maxTokens: 3}}]", "tests.0.options.maxTokens"),
        ("prompts: [a]\nproviders: [{id: 'openai:z', priority: 1}]", "providers.0.priority"),
        ("prompts: [a]\nproviders: [{id: 'google:z', config: {url: 'http://x.test', method: POST}}]", "config.url"),
        ("prompts: [a]\nproviders: [{id: 'https://x.test', config: {responseTimeout: 3}}]", "config.responseTimeout"),
    ],
)
def test_what_promptfoo_does_not_read_either_is_noted(tmp_path: Path, text: str, place: str) -> None:
    notes = read(tmp_path, text).notes
    wanted = f"{place}: promptfoo does not read it either, so that it changes nothing"
    assert [note for note in notes if wanted in note], notes


def test_headers_that_a_request_has_anyway_are_noted(tmp_path: Path) -> None:
    text = "prompts: [a]\nproviders: [{id: 'openai:z', config: {headers: {Content-Type: application/json}}}]"
    assert any("config.headers: a request has them anyway" in note for note in read(tmp_path, text).notes)


def test_a_grader_without_an_id_is_one_only_to_a_check_that_asks_it(tmp_path: Path) -> None:
    text = (
        HEAD
        + "defaultTest: {options: {provider: {config: {timeout: 1}}}}\ntests: [{assert: [{type: contains, value: a}]}]"
    )
    assert any("names no provider" in note for note in read(tmp_path, text).notes)


def test_a_quote_in_a_template_of_a_body_is_one(tmp_path: Path) -> None:
    body = '{system: \'{{s | default("You rhyme.")}}\', p: "{{prompt}}"}'
    found = read(tmp_path, f"prompts: [a]\nproviders: [{{id: 'https://x.test', config: {{body: {body}}}}}]")
    spec = found.columns[0].provider.spec
    assert isinstance(spec, AddressSpec)
    assert spec.body == {"system": '{{s | default("You rhyme.")}}', "p": "{{prompt}}"}


def test_what_is_refused_is_left_out_where_that_is_allowed(tmp_path: Path) -> None:
    text = (
        HEAD.replace("echo", "echo, 'bedrock:x'")
        + "tests: [{assert: [{type: search-rubric}, {type: contains, value: b}]}]\n"
    )
    found = read(tmp_path, text, allow=True)
    assert len(found.columns) == 1
    assert [one.type for one in cases(found)[0].assertions] == ["contains"]
    assert [one.split(": ")[1] for one in found.left_out] == ["providers.1", "tests.0.assert.0"]
    with pytest.raises(BadInputError, match="nothing to run"):
        read(tmp_path, "prompts: [a]\nproviders: ['bedrock:x']\n", allow=True)


def test_what_changes_nothing_here_is_noted_with_its_place_and_left_alone(tmp_path: Path) -> None:
    text = (
        HEAD.replace("'{{w}}'", "'{{w}}', {raw: '{{w}}', note: b}")
        + """sharing: true
author: me
metadata: {team: a}
extensions: []
redteam: {purpose: none}
outputPath: [x.pdf, y.json]
evaluateOptions: {generateSuggestions: true, runSerially: true}
tests: [{vars: {w: a}, author: me, options: {delay: 5}, assert: [{type: contains, value: a, reason: why}]}]
"""
    )
    found = read(tmp_path, text)
    assert found.left_out == ()
    assert found.output_paths == ("y.json",)
    assert sorted(one.split(": ")[1] for one in found.notes) == [
        "author", "evaluateOptions.generateSuggestions", "evaluateOptions.runSerially", "extensions", "metadata", "outputPath.0",
        "prompts.1.note", "redteam", "sharing",
        "tests.0.assert.0.reason", "tests.0.author", "tests.0.options.delay",
    ]  # fmt: skip


def test_what_the_config_sets_of_the_command_line_comes_before_its_options(tmp_path: Path) -> None:
    text = (
        HEAD
        + "tests: [{}]\nevaluateOptions: {repeat: 3, maxConcurrency: 5}\ncommandLineOptions: {repeat: 2, verbose: true}\n"
    )
    found = read(tmp_path, text)
    assert (len(found.rows), found.concurrency) == (2, 5), "two trials of the one test"
    with pytest.raises(
        BadInputError, match=r"commandLineOptions\.filterPattern: pass --filter-pattern on the command line"
    ):
        read(tmp_path, HEAD + "commandLineOptions: {filterPattern: x}\n")


def test_a_variable_that_a_prompt_prints_and_no_test_sets_is_noted(tmp_path: Path) -> None:
    text = """
prompts:
  - '{{w}} {{gone.name | upper}} {{kept}} {{other | default("x")}} {% if tone %}{{tone}}{% endif %} {% set own = w %}{{own}}'
  - '[{"role": "user", "content": "{{lost}}"}]'
  - 'half {{open'
providers: [echo]
tests: [{vars: {w: a}, options: {storeOutputAs: kept}}, {vars: {w: b}}]
"""
    *noted, beside = [one.partition(" (")[0] for one in read(tmp_path, text).notes]
    assert noted == ["{{gone}} in prompt 0", "{{lost}} in prompt 1"]
    assert beside.startswith("storeOutputAs: each column keeps its own outputs")


def test_places_of_the_environment_are_filled_in_and_a_secret_never_is(tmp_path: Path) -> None:
    text = """
env: {CITY: Rome}
prompts: ['{{env.CITY}}, {{ env["COUNTRY"] }}, {{ env.GONE | default("none") }}: {{w}}']
providers: [{id: 'openai:{{env.MODEL}}', config: {apiKey: '{{env.MY_KEY}}'}}]
tests: [{vars: {w: '{{env.CITY}}'}, assert: [{type: contains, value: '{{env.CITY}}'}]}]
"""
    (tmp_path / "c.yaml").write_text(text)
    environment = {"CITY": "Bari", "COUNTRY": "Italy", "MODEL": "gpt-x", "MY_KEY": "sk-1234567890"}
    found = read_config(tmp_path / "c.yaml", now=START, overrides=ConfigOverrides(environment=environment))
    assert prompts(found) == ["Rome, Italy, none: {{w}}"]
    assert variables(found) == [{"w": "Rome"}]
    assert found.columns[0].provider.spec == ModelSpec(model="openai:gpt-x", max_tokens=2048, api_key="{{env.MY_KEY}}")
    assert found.variables == {"MY_KEY"}
    assert "sk-1234567890" not in repr(found)


def test_a_plan_for_red_teaming_is_asked_its_own_prompt(tmp_path: Path) -> None:
    text = (
        "targets: [echo]\nredteam: {purpose: a}\ntests: [{vars: {prompt: hi}, assert: [{type: equals, value: hi}]}]\n"
    )
    assert prompts(read(tmp_path, text)) == ["{{prompt}}"]


def test_variables_are_transformed_by_code_in_the_sandbox(tmp_path: Path) -> None:
    text = HEAD + "tests: [{vars: {w: a}, options: {transformVars: '{ w: vars.w + \"!\", n: 2 }'}}]"
    (tmp_path / "t.mjs").write_text("export default (vars, context) => ({...vars, w: vars.w.toUpperCase()});\n")
    assert variables(read(tmp_path, HEAD + "tests: [{vars: {w: a}, options: {transformVars: file://t.mjs}}]")) == [
        {"w": "A"}
    ]
    assert variables(read(tmp_path, text)) == [{"w": "a!", "n": 2}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prompts: [a\n", "c.yaml:2: no YAML"),
        ("prompts: [a]\nprompts: [b]\n", "duplicate"),
        ("- a\n", "must be a mapping"),
        (HEAD + "providers: [b]\n", "duplicate"),
        (HEAD + "targets: [b]\n", "providers and targets are the same"),
        (HEAD.replace("{{w}}", "p/none.txt"), "c.yaml:1: prompts.0: there is no file"),
        (HEAD + "tests: [{vars: [a]}]", "c.yaml:3: tests.0.vars: there is no file"),
        (HEAD + "tests: [{vars: 'file://v.yaml'}]", "c.yaml:3: tests.0.vars: promptfoo takes no variables from file://"),
        (HEAD + "tests: [{threshold: high}]", "must be a number"),
        (HEAD + "tests: [{assert: [{type: regex, value: '('}]}]", "c.yaml:3: tests.0.assert.0: regex: value"),
        (HEAD + "tests: [{assert: [{type: max-score, value: {methods: sum}}]}]", "tests.0.assert.0.value.methods"),
        (HEAD + "tests: [{assert: [{type: max-score, value: {weights: {pyhton: 2}}}]}]", "'pyhton' is no assertion type"),
        (HEAD + "tests: [{assert: [{$ref: '#/assertionTemplates/x'}]}]", "there is no assertion template"),
        (HEAD + "tests: [{vars: {w: file://../none.txt}}]", "there is no file"),
        (HEAD + "evaluateOptions: {repeat: -1}", "must be a whole number from 0"),
        ("prompts: [a]\nproviders: [{id: http, config: {body: text}}]", "address must stand under config.url"),
        (HEAD + "tests: [{options: {repeat: 0}}]", "tests.0.options.repeat: must be a whole number from 1"),
        (HEAD + "tests: [{provider: [echo, echo]}]", "tests.0.provider: must be one provider"),
        (HEAD + "tests: [{providers: echo}]", "tests.0.providers: must be a list"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(tmp_path, text)


def test_a_ragged_csv_row_is_named_by_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('w,x\n"a\nb",1\nc\n')
    assert "t.csv:4: 1 cells under 2 columns" in refusal(tmp_path, HEAD + "tests: t.csv\n")
    (tmp_path / "t.csv").write_text("w,__expected,__wish\na,b,c\n")
    assert variables(read(tmp_path, HEAD + "tests: t.csv\n")) == [{"w": "a", "__wish": "c"}]


def test_aliases_depth_and_combinations_without_end_are_refused_at_once(tmp_path: Path) -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n"
        for before, name in zip("abcdefghi", "bcdefghij", strict=True)
    )
    assert "aliases stand for more than" in refusal(tmp_path, bomb + HEAD)
    for depth, reason in ((500, "nested more than"), (5000, " nest")):  # the latter is refused by PyYAML 6.0.4 itself
        assert reason in refusal(tmp_path, HEAD + "tests: " + "[" * depth + "]" * depth)
    names = ", ".join(f"v{number}: [a, b, c, d, e, f, g, h, i, j]" for number in range(9))
    assert "make 1,000,000,000 tests" in refusal(tmp_path, HEAD + f"tests: [{{vars: {{{names}}}}}]")


def test_a_persons_own_config_may_read_files_beside_its_folder_and_no_template_reaches_the_machine(
    tmp_path: Path,
) -> None:
    (tmp_path / "outside.txt").write_text("outside")
    inner = tmp_path / "inner"
    inner.mkdir()
    found = read(inner, HEAD + "tests: [{vars: {w: file://../outside.txt, x: \"{{ ''.__class__.__mro__ }}\"}}]\n")
    assert variables(found) == [{"w": "outside", "x": "{{ ''.__class__.__mro__ }}", COMPUTED: {"x": ""}}]
    with pytest.raises(UnsupportedError, match="env outside a provider's config"):
        read(inner, "prompts: ['{{ env.HOME }}']\nproviders: [echo]\n")


def test_a_simulated_user_stands_as_the_provider_of_a_test(tmp_path: Path) -> None:
    text = "prompts: [p]\nproviders:\n  - echo\n  - promptfoo:simulated-user\n"
    assert "providers.1: a simulated user stands as the provider of a test" in refusal(tmp_path, text)
    strange = HEAD + "tests: [{provider: {id: 'promptfoo:simulated-user', config: {userProvider: 'nobody:x'}}}]\n"
    assert "tests.0.provider.config.userProvider: the provider nobody:x" in refusal(tmp_path, strange)


def test_filters_of_a_config_run_only_where_code_is_trusted(tmp_path: Path) -> None:
    (tmp_path / "f.js").write_text("module.exports = String")
    text = "prompts: ['{{ w | f }}']\nproviders: [echo]\nnunjucksFilters: {f: f.js}\n"
    assert "nunjucksFilters.f: f.js: JavaScript makes parts of a config only with --trust-code" in refusal(
        tmp_path, text
    )


def test_a_long_prompt_is_cut_with_an_ellipsis_in_its_title(tmp_path: Path) -> None:
    found = read(tmp_path, f"prompts: ['{'word ' * 30}']\nproviders: [echo]\ntests: [{{}}]\n")
    title = found.arrivals[0].record.title
    assert (len(title), title[-1]) == (60, "…")


def test_what_env_names_is_filled_in_and_a_secret_reaches_secrets_only(tmp_path: Path) -> None:
    def found(env: str) -> Evaluation:
        (tmp_path / "c.yaml").write_text(f"{HEAD}env: {{{env}}}\ntests: [{{vars: {{w: '{{{{env.HELLO}}}}'}}}}]\n")
        environment = {"CITY": "Bari", "MY_KEY": "sk-1234567890"}
        return read_config(tmp_path / "c.yaml", now=START, overrides=ConfigOverrides(environment=environment))

    whole = found("HELLO: 'Ciao {{env.CITY}}', OPENAI_API_KEY: '{{env.MY_KEY}}'")
    assert variables(whole) == [{"w": "Ciao Bari"}]
    assert whole.given_variables["OPENAI_API_KEY"] == "sk-1234567890"
    with pytest.raises(UnsupportedError, match="MY_KEY, which would be kept in clear"):
        found("HELLO: '{{env.MY_KEY}}'")


def test_a_threshold_in_csv_is_for_the_column_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "w,__expected1,__expected2,__config:__expected1:threshold,__config:__expected2:threshold\n"
        "x,,similar: a,0.9,0.1\n"
        "x,similar: a,,0.9,0.1\n"
    )
    found = cases(read(tmp_path, HEAD + "tests: t.csv\n"))
    assert [[one.threshold for one in case.assertions] for case in found] == [[0.1], [0.9]]


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("__threshold", "nan"),
        ("__threshold", "inf"),
        ("__config:__expected:threshold", "0.8x"),
        ("__config:__expected0:threshold", "1"),
        ("__config:__expected2:threshold", "1"),
        ("__config:__expectedX:threshold", "1"),
        ("__config:__expected:provider", "1"),
    ],
)
def test_a_column_in_csv_that_decides_and_says_nothing_is_refused_by_name(
    tmp_path: Path, column: str, cell: str
) -> None:
    (tmp_path / "t.csv").write_text(f"w,__expected,{column}\nx,similar: a,{cell}\n")
    assert f"{column}: " in refusal(tmp_path, HEAD + "tests: t.csv\n")


@pytest.mark.parametrize("name", ["assert: [{type: equals, value: a}]", "_expected: equals:a", "_threshold: 1"])
def test_what_decides_a_verdict_among_the_variables_is_noted(tmp_path: Path, name: str) -> None:
    notes = read(tmp_path, HEAD + f"tests: [{{vars: {{w: a, {name}}}}}]\n").notes
    assert any(f"vars.{name.partition(':')[0]}: a variable, which" in note for note in notes), notes
