"""A config in which tests ask for prompts, providers, outputs and repeats of their own, and Python makes parts of it."""

FILES = {
    "config.yaml": """
prompts:
  - {label: plain, raw: "About {{topic}} for {{who}}"}
  - {label: 'code:text', id: 'file://prompts.py:as_text'}
  - {label: 'code:chat', id: 'file://prompts.py:as_chat', config: {tone: loud}}
  - {label: cfg, id: 'file://prompts.py:with_config'}
  - {label: script, id: file://script.py}
providers:
  - {id: echo, label: one}
  - {id: echo, label: 'g:two', transform: "String(output).toUpperCase()"}
defaultTest: {vars: {who: you}, assert: [{type: regex, value: '.{4}', metric: long}]}
tests:
  - {vars: {topic: all}, assert: [{type: icontains, value: all, metric: says, weight: 2}]}
  - vars: {topic: [a, b]}
    providers: [one]
    prompts: [plain, code]
    options: {repeat: 2}
    threshold: 0.4
    assert: [{type: contains, value: "{{topic}}", metric: says}, {type: contains, value: zz}]
  - {vars: {topic: group}, providers: [g], prompts: ['c*']}
  - {vars: {topic: given}, providerOutput: {b: [1, 2]}, providers: [one], assert: [{type: is-json}, {type: contains, value: b}]}
  - {vars: {topic: words}, providerOutput: some words, assert: [{type: contains, value: words}]}
  - {vars: {topic: ''}, providerOutput: '', assert: [{type: contains, value: About}]}
  - vars: {topic: own}
    provider: file://other.py
    prompts: [plain]
    assert: [{type: icontains, value: 'other:about'}, {type: contains, value: own}, {type: max-score}]
  - {vars: {topic: changed}, options: {transform: "output + '!'"}, prompts: [plain], assert: [{type: contains, value: '!'}]}
  - {vars: {topic: nobody}, prompts: []}
  - vars: {topic: file://var.py, who: me}
    prompts: [plain, cfg]
    assert: [{type: icontains, value: topic of me}, {type: equals, value: 'About {{topic}} for me'}]
  - file://t.csv
  - file://made.py:make
  - file://made.py
scenarios:
  - {config: [{vars: {topic: scene}, providers: [one]}], tests: [{prompts: [plain], assert: [{type: contains, value: scene}]}]}
derivedMetrics: [{name: share, value: 'says / __count'}]
""",
    "prompts.py": """
def as_text(context):
    return "Tell {{who}} about " + context["vars"]["topic"] + " via " + context["provider"]["label"]

def as_chat(context):
    said = [{"role": "system", "content": "You are " + context["config"]["tone"]}]
    said += [{"role": "user", "content": context["vars"]["topic"]}, {"role": "assistant", "content": "Yes?"}]
    return [*said, {"role": "user", "content": "More, {{who}}"}]

async def with_config(context):
    return {"prompt": "short " + context["vars"]["topic"], "config": {"temperature": 0.1}}
""",
    "script.py": """
import json, sys
print("script says " + json.loads(sys.argv[1])["vars"]["topic"])
""",
    "other.py": """
def call_api(prompt, options, context):
    return {"output": "other:" + prompt}
""",
    "var.py": """
def get_var(name, prompt, other_vars):
    return {"output": f" {name} of {other_vars['who']} "}
""",
    "made.py": """
def case(topic):
    return {"vars": {"topic": topic, "who": "made"}, "assert": [{"type": "contains", "value": topic, "metric": "made"}]}

def make(config=None):
    print("heard by nobody")
    return [case(f"made {number}") for number in range(2)]

async def generate_tests():
    return [case("default")]
""",
    "t.csv": "topic,who,__expected,__providerOutput\nsun,csv,contains: given,given here\nmoon,csv,contains: moon,\n",
}
