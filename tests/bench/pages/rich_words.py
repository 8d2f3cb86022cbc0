"""What is said in a store of two weeks: prompts, topics, answers, questions, and a config of its own."""

from __future__ import annotations

TEMPLATES = (
    "You answer customers of a shop for kitchen goods.\nAnswer this message: {{message}}\n",
    "You answer customers of a shop for kitchen goods.\nSay first whether we can help, then what happens next.\n"
    "Quote the ticket number.\nMessage: {{message}}\n",
    "You answer customers of a shop for kitchen goods. Keep it short.\nPoint to the returns page where you can.\nMessage: {{message}}\n",
    "You answer customers of a shop for kitchen goods.\nSay first whether we can help, then what happens next, with a date.\n"
    "Quote the ticket number. Never tell anybody to calm down.\nMessage: {{message}}\n",
)
CHANGES = (
    "first draft",
    "say first whether we can help; quote the ticket",
    "shorter; point to the returns page",
    "dates; no scolding",
)
TOPICS: dict[str, tuple[str, ...]] = {
    "refund": (
        "inside 30 days",
        "after 40 days",
        "without the receipt",
        "to another card",
        "of a gift",
        "partly used",
        "of a sale item",
        "twice asked",
    ),
    "delivery": (
        "is late",
        "went to the neighbour",
        "to the islands",
        "on Saturday",
        "of half the order",
        "lost in transit",
        "to a new address",
        "abroad",
    ),
    "billing": (
        "charged twice",
        "wrong VAT",
        "invoice on paper",
        "voucher refused",
        "in another currency",
        "card expired",
        "instalments",
        "company account",
    ),
    "warranty": (
        "on the kettle",
        "after a fall",
        "of a second-hand pan",
        "extended",
        "abroad",
        "on the blade",
        "without registering",
        "on spare parts",
    ),
    "angry": (
        "third time I ask",
        "in capitals",
        "wants the manager",
        "threatens a review",
        "insults",
        "sarcastic",
        "cancels everything",
        "writes at night",
    ),
}
GOOD = "Yes, we can help with that ({what}). The refund is on its way and you will have it by Friday.\nYour ticket is T-{number}."
BAD = (
    "Please calm down. Our returns page has the answer to {what}: https://shop.example/returns",
    "We are sorry about {what}. Somebody will look at your ticket T-{number} soon.",
    "Thank you for your message about {what}. Have you looked at our pages?",
)
NAMES = ("Aino", "Bram", "Chloé", "Dmitri", "Esra", "Fatou", "Goran", "Hana")
QUESTIONS = (
    "How many units did the plant make in May?",
    "How many units are in stock in Leith?",
    "How many units came back last week?",
    "How many units fit on a pallet?",
    "How many units were sold on Monday?",
    "How many units are ordered?",
    "How many units broke?",
    "How many units does a crate hold?",
    "How many units were counted twice?",
    "How many units left on Friday?",
    "How many units are spare?",
    "How many units does the contract name?",
)
PROVIDER = """
import hashlib


def _share(prompt, name):
    return int(hashlib.sha256((name + prompt).encode()).hexdigest()[:6], 16) / 0xFFFFFF


def _said(prompt, name, rate, cost):
    word = prompt.rsplit(":", 1)[-1].strip()
    good = _share(prompt, name) < rate + (0.06 if "step by step" in prompt else 0)
    text = f"The capital of {word} is Capital of {word}." if good else f"I believe it may be the old town of {word}, but I am not sure."
    return {"output": text, "cost": cost, "tokenUsage": {"total": len(prompt) // 3, "prompt": len(prompt) // 4, "completion": 12}}


def large(prompt, options, context):
    return _said(prompt, "large", 0.93, 0.004)


def medium(prompt, options, context):
    return _said(prompt, "medium", 0.82, 0.0011)


def small(prompt, options, context):
    return _said(prompt, "small", 0.61, 0.0002)
"""
LANDS = (
    "Norland",
    "Osteria",
    "Pellan",
    "Quorra",
    "Rhune",
    "Sarnath",
    "Tyrol",
    "Ulm",
    "Vinland",
    "Wessex",
    "Xanth",
    "Ys",
)


def config_text(tests: int) -> str:
    """A promptfoo config with so many tests of three prompts at three models."""
    providers = "".join(
        f"  - id: file://answers.py:{name}\n    label: {name}\n" for name in ("large", "medium", "small")
    )
    rows = "".join(
        _test_text(number, f"{LANDS[number % len(LANDS)]}{number // len(LANDS) + 1}") for number in range(tests)
    )
    return (
        "description: Capitals, three prompts at three models\nprompts:\n"
        "  - {label: plain, raw: 'Name the capital of: {{land}}'}\n"
        "  - {label: step by step, raw: 'Think step by step, then name the capital of: {{land}}'}\n"
        "  - {label: short, raw: 'Capital? One sentence: {{land}}'}\n"
        f"providers:\n{providers}tests:\n{rows}"
    )


def _test_text(number: int, land: str) -> str:
    return (
        f"  - description: Capital of {land}\n    vars: {{land: {land}}}\n    assert:\n"
        f"      - {{type: icontains, value: 'Capital of {land}', metric: right}}\n"
        "      - {type: not-icontains, value: not sure, metric: sure}\n"
        f"    metadata: {{region: {('north', 'south', 'west')[number % 3]}}}\n"
    )
