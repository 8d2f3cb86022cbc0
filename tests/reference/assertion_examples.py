"""For each assertion type one assertion, an output that passes it, and one that fails."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import JsonValue

Json = dict[str, JsonValue]
CALLS: list[JsonValue] = [
    {"tool": "get_order", "arguments": {"id": "A-17"}},
    {"tool": "refund", "arguments": {"id": "A-17", "amount": 40}},
]
WRONG_CALLS: list[JsonValue] = [{"tool": "get_order", "arguments": {"id": "A-71"}}]
NOTHING: Json = {}


@dataclass(frozen=True, slots=True)
class Example:
    """One assertion (without its type) and two rows of `minions-evals score` (without id and checks)."""

    assertion: Json
    passes: Json
    fails: Json
    arguments: tuple[str, ...] = field(default=())
    """What `score` is told besides."""


def said(assertion: Json, passes: JsonValue, fails: JsonValue) -> Example:
    """An assertion about the output alone."""
    return Example(assertion, {"output": passes}, {"output": fails})


def done(assertion: Json) -> Example:
    """An assertion about the log of tool calls."""
    return Example(
        assertion, {"output": "Refunded.", "toolCalls": CALLS}, {"output": "Refunded.", "toolCalls": WRONG_CALLS}
    )


REPLY = "You have 30 days to return it."
TALK: JsonValue = {
    "output": "Done.",
    "messages": [
        {"role": "user", "content": "I want a refund."},
        {"role": "assistant", "content": "What is the order number?"},
        {"role": "user", "content": "A1."},
        {"role": "assistant", "content": "Done."},
    ],
}
RUDE: JsonValue = {
    "output": "No.",
    "messages": [{"role": "user", "content": "I want a refund."}, {"role": "assistant", "content": "No."}],
}
SCHEMA: Json = {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}
EXAMPLES: dict[str, Example] = {
    "agent-rubric": said(
        {"value": "The order was looked up before it was refunded."}, "Looked up, refunded.", "Refunded. BAD"
    ),
    "answer-relevance": said({"threshold": 0.7}, REPLY, REPLY),
    "context-faithfulness": said({"threshold": 0.9}, REPLY, REPLY),
    "context-recall": said({"value": "Returns are free for 30 days.", "threshold": 0.9}, REPLY, REPLY),
    "context-relevance": said({"threshold": 0.9}, REPLY, REPLY),
    "conversation-relevance": said(NOTHING, REPLY, REPLY),
    "g-eval": said({"value": "The reply is coherent.", "threshold": 0.7}, REPLY, "You have. Not. BAD"),
    "guardrails": said(NOTHING, REPLY, REPLY),
    "is-valid-function-call": said(NOTHING, REPLY, REPLY),
    "is-valid-openai-function-call": said(NOTHING, REPLY, REPLY),
    "is-valid-openai-tools-call": said(NOTHING, REPLY, REPLY),
    "model-graded-closedqa": said({"value": "It says how many days there are."}, REPLY, "You have some time. BAD"),
    "model-graded-factuality": said({"value": "Paris is the capital of France."}, "It is Paris.", "It is Rome. BAD"),
    "classifier": said({"value": "nothate", "threshold": 0.5}, REPLY, REPLY),
    "meteor": said({"value": "Returns take 30 days."}, REPLY, REPLY),
    "moderation": said({"value": ["hate", "self-harm"]}, REPLY, REPLY),
    "webhook": said({"value": "https://checks.example/reply"}, REPLY, REPLY),
    "perplexity": said({"threshold": 20}, REPLY, REPLY),
    "perplexity-score": said({"threshold": 0.3}, REPLY, REPLY),
    "skill-used": said({"value": "refunds"}, REPLY, REPLY),
    "trajectory:goal-success": Example(
        {"value": "The order is refunded."},
        {"output": "Refunded.", "toolCalls": CALLS},
        {"output": "Refunded. BAD", "toolCalls": WRONG_CALLS},
    ),
    "turn": said({"value": 1, "assert": [{"type": "contains", "value": "order number"}]}, TALK, RUDE),
    "every-turn": said({"assert": [{"type": "not-contains", "value": "No."}]}, TALK, RUDE),
    "agent-turns": said({"assert": [{"type": "contains", "value": "order number"}]}, TALK, RUDE),
    "assert-set": said(
        {"threshold": 0.5, "assert": [{"type": "contains", "value": "30"}, {"type": "contains", "value": "free"}]},
        REPLY,
        "Returns are not possible.",
    ),
    "bleu": said({"value": REPLY, "threshold": 0.4}, "You have 30 days to send it back.", "We are closed on Sundays."),
    "contains": said({"value": "30 days"}, REPLY, "You have a month."),
    "contains-all": said({"value": ["30", "return"]}, REPLY, "You have 30 days."),
    "contains-any": said({"value": ["30 days", "one month"]}, REPLY, "There is no limit."),
    "contains-html": said(NOTHING, "Here: <ul><li>tea</li></ul>", "Here: tea"),
    "contains-json": said({"value": SCHEMA}, 'It is {"city": "Rome"}.', 'It is {"town": "Rome"}.'),
    "contains-sql": said(NOTHING, "Try:\n```sql\nSELECT name FROM users\n```", "Try to look it up."),
    "contains-xml": said({"value": "order.id"}, "Here: <order><id>7</id></order>", "Here: <order/>"),
    "cost": Example({"threshold": 0.01}, {"output": REPLY, "cost": 0.002}, {"output": REPLY, "cost": 0.05}),
    "effect": done({"value": {"tool": "refund", "args": {"id": "A-17"}, "times": 1}}),
    "state": Example(
        {"value": {"query": "orders.A17.status", "equals": "refunded"}},
        {"output": "Refunded.", "state": {"orders": {"A17": {"status": "refunded"}}}},
        {"output": "Refunded.", "state": {"orders": {"A17": {"status": "paid"}}}},
    ),
    "equals": said({"value": {"city": "Rome"}}, '{"city": "Rome"}', '{"city": "Bari"}'),
    "factuality": said({"value": "Paris is the capital of France."}, "It is Paris.", "It is Rome. BAD"),
    "finish-reason": said({"value": "stop"}, REPLY, REPLY),
    "foreign-scorer": said(
        {"value": {"tool": "inspect", "scorer": "match", "options": {"numeric": True}, "targets": ["1000"]}},
        "That makes $1,000",
        "That makes 11000",
    ),
    "function": said({"value": {"name": "short", "code": "0" * 64}}, REPLY, REPLY),
    "gleu": said({"value": REPLY, "threshold": 0.4}, "You have 30 days to send it back.", "We are closed on Sundays."),
    "icontains": said({"value": "30 DAYS"}, REPLY, "You have a month."),
    "icontains-all": said({"value": ["30", "RETURN"]}, REPLY, "You have 30 days."),
    "icontains-any": said({"value": ["30 DAYS", "one month"]}, REPLY, "There is no limit."),
    "is-html": said(NOTHING, "<p>tea</p>", "tea"),
    "is-json": said({"value": SCHEMA}, '{"city": "Rome"}', "Rome"),
    "is-refusal": said(NOTHING, "I'm sorry, but I can't help with that.", REPLY),
    "is-sql": said(
        {"value": {"databaseType": "PostgreSQL", "allowedTables": ["select::(.*)::users"]}},
        "SELECT name FROM users",
        "SELECT name FROM salaries",
    ),
    "is-xml": said({"value": "order.id"}, "<order><id>7</id></order>", "<order/>"),
    "javascript": said({"value": "output.length < 40"}, REPLY, REPLY * 3),
    "latency": Example({"threshold": 800}, {"output": REPLY, "latencyMs": 240}, {"output": REPLY, "latencyMs": 2400}),
    "levenshtein": said({"value": "Rome", "threshold": 1}, "Rom", "Milan"),
    "llm-rubric": said({"value": "The reply is polite."}, "Gladly, here it is.", "Find it yourself. BAD"),
    "plugin-grader": said({"value": {"type": "regex", "pattern": r"\b\d+ days\b"}}, REPLY, "You have a month."),
    "python": said({"value": "len(output) < 40"}, REPLY, REPLY * 3),
    "regex": said({"value": r"\b\d+ days\b"}, REPLY, "You have a month."),
    "retrieval": said(
        {"value": {"metric": "recall", "relevant": ["returns", "refunds"], "k": 5}, "threshold": 0.5},
        '{"retrieved": ["returns", "shipping"]}',
        '{"retrieved": ["shipping"]}',
    ),
    "rouge-n": said({"value": REPLY}, "You have 30 days to return it, free.", "We are closed on Sundays."),
    "similar": said({"value": REPLY, "threshold": 0.8}, "you have 30 days to return it", "We are closed on Sundays."),
    "similar:cosine": said(
        {"value": REPLY, "threshold": 0.8}, "you have 30 days to return it", "We are closed on Sundays."
    ),
    "similar:dot": said({"value": REPLY, "threshold": 0.5}, REPLY, "We are closed on Sundays."),
    "similar:euclidean": said({"value": REPLY, "threshold": 0.7}, REPLY, "We are closed on Sundays."),
    "starts-with": said({"value": "You have"}, REPLY, "Well, you have 30 days."),
    "tool-call-f1": done({"value": ["get_order", "refund"], "threshold": 0.8}),
    "trace-error-spans": said({"value": {"pattern": "tool*", "max_count": 1}}, REPLY, REPLY),
    "trace-span-count": said({"value": {"pattern": "tool*", "min": 1, "max": 5}}, REPLY, REPLY),
    "trace-span-duration": said({"value": {"max": 800, "percentile": 95}}, REPLY, REPLY),
    "trajectory:match": done(
        {"value": [{"name": "get_order", "args": {"id": "A-17"}}, {"name": "refund"}], "threshold": 1}
    ),
    "trajectory:step-count": done({"value": {"min": 2, "max": 4}}),
    "trajectory:tool-args-match": done({"value": {"name": "get_order", "args": {"id": "A-17"}}}),
    "trajectory:tool-sequence": done({"value": ["get_order", "refund"]}),
    "trajectory:tool-used": done({"value": "refund"}),
    "word-count": said({"value": {"min": 3, "max": 20}}, REPLY, "Yes."),
}
UNTRIED = (
    "finish-reason", "function", "answer-relevance", "context-faithfulness", "context-recall", "context-relevance",
    "conversation-relevance", "is-valid-function-call", "is-valid-openai-function-call", "is-valid-openai-tools-call",
    "perplexity", "perplexity-score", "skill-used", "classifier", "meteor", "moderation", "webhook", "guardrails",
    "trace-error-spans", "trace-span-count", "trace-span-duration",
)  # fmt: skip
"""A row has no variables, no prompt, no finish reason and nothing that a provider told beside its output (probabilities,
metadata, safety checks, the tools that it offered), no service is asked of it, WordNet may be missing, and a function of yours runs under
`evaluate` only: their pages show no outputs.
"""
