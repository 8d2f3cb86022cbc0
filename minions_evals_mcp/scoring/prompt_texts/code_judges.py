"""The request to code that judges in a model's place: templates in the form that promptfoo's are of, in words of our own.

Code reads the output between the same marks as there (`<Output>`, `[Submission]: …`), and from `context.vars` under the same
names. Those of `g-eval` are two, of which the first asks for the steps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from minions_evals_mcp.scoring.max_score import SELECT_BEST

G_EVAL = "g-eval"
STATEMENTS = """Say of each statement whether the context supports it, and why.

context:
{{context}}
statements:
{{statements|join("\\n")}}

End with one line: Final verdict for each statement in order: Yes. No. (and so on)
Answer:
"""
"""The second question of `context-faithfulness`."""
MOST = 10
"""The best score in `g-eval`."""
STEPS = """Here is a criterion for judging texts. Work out three or four short steps by which any text can be checked against it.

**EVALUATION CRITERIA**
{{criteria}}

Reply with one line of JSON and nothing else: {"steps": ["first step", "second step"]}
"""


def _messages(*messages: tuple[str, str]) -> str:
    return json.dumps([{"role": role, "content": words} for role, words in messages], separators=(",", ":"))


_FACTS = _messages(
    (
        "system",
        "Compare the facts of a submitted answer with those of an expert's; style and wording do not matter. Choose one:\n"
        "(A) it has some of the expert's facts and contradicts none\n(B) it has all of them and more, and contradicts none\n"
        "(C) it has the same facts\n(D) it contradicts the expert\n(E) it differs in ways that do not matter for the facts\n"
        'Reply with JSON alone: {"category": "A, B, C, D or E", "reason": "why"}',
    ),
    (
        "user",
        "<question>\n{{input}}\n</question>\n\n<expert_answer>\n{{ideal}}\n</expert_answer>\n\n"
        "<submitted_answer>\n{{completion}}\n</submitted_answer>",
    ),
)
TEMPLATES: Mapping[str, str] = {
    "llm-rubric": _messages(
        (
            "system",
            "You grade an output by a rubric, and by it alone. Reply with JSON alone: "
            '{"reason": "why", "pass": true or false, "score": a number from 0 to 1}',
        ),
        ("user", "<Output>\n{{ output }}\n</Output>\n<Rubric>\n{{ rubric }}\n</Rubric>"),
    ),
    "factuality": _FACTS,
    "model-graded-closedqa": _messages(
        (
            "system",
            "Decide whether a submission meets a criterion.\n[BEGIN DATA]\n***\n[Task]: {{input}}\n***\n"
            "[Submission]: {{completion}}\n***\n[Criterion]: {{criteria}}\n***\n[END DATA]\n"
            "Reason step by step first. End with a single character: Y if the submission meets the criterion, else N.",
        ),
    ),
    G_EVAL: """Rate a reply to a prompt by one criterion, from 0 (it fails it) to {{maxScore}} (it fulfils it).

**Evaluation Criteria**
{{criteria}}

**Evaluation Steps**
- {{steps}}

**Prompt**
{{input}}

**Reply**
{{output}}

Reply with one line of JSON and nothing else: {"score": a whole number from 0 to {{maxScore}}, "reason": "why"}
""",
    "context-recall": """Take each sentence of the answer in turn: can it be attributed to the context?

context: {{context}}
answer: {{groundTruth}}

Write one line for each sentence: the sentence, why, and at the end [Attributed] or [Not Attributed].
classification:
""",
    "context-relevance": """Copy from the context, unchanged, each sentence that answering the query needs, one a line.
Where none is needed, or the query cannot be answered from it, write: Insufficient Information

query: {{query}}
context: {{context}}
candidate sentences:
""",
    "context-faithfulness": """Write each statement of fact that the answer makes as a sentence of its own, one a line.

question: {{question}}
answer: {{answer}}
statements:
""",
    SELECT_BEST: _messages(
        ("system", "You choose the output that fits a criterion best. Reply with its number alone."),
        (
            "user",
            "<Outputs>\n{% for output in outputs %}<Output index=\"{{ loop.index0 }}\">{{ output }}</Output>\n{% endfor %}"
            "</Outputs>\n<Criteria>{{ criteria }}</Criteria>",
        ),
    ),
}  # fmt: skip
"""By the type of the check: those that code judges."""
