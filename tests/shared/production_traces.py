"""Generated traces of a support agent: planted modes of failure, requests that come again in other words, and right answers."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

Json = dict[str, Any]
AGENT = "support-desk"
MAIL, CARD = "ada.lovelace@example.org", "4111 1111 1111 1111"
REQUESTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("status", "en"): (
        "Where is my order {n}?", "Can you tell me where order {n} is right now?", "What is the status of my order {n}?",
        "I am still waiting for order {n}, where is it?",
    ),
    ("status", "de"): (
        "Wo ist meine Bestellung {n}?", "Kannst du mir sagen, wo meine Bestellung {n} gerade ist?",
        "Ich warte noch auf die Bestellung {n}, wo ist sie?",
    ),
    ("refund", "en"): (
        "I want a refund for order {n}.", "Could you refund my order {n}, please?", "Please give me a refund for order {n}, it is broken.",
    ),
    ("refund", "de"): (
        "Ich möchte mein Geld für die Bestellung {n} zurück.", "Bitte erstatte mir das Geld für die Bestellung {n}.",
        "Kann ich mein Geld für die Bestellung {n} zurück haben?",
    ),
    ("cancel", "en"): ("Please cancel order {n}.", "I would like to cancel my order {n}, please.", "Can you cancel the order {n} for me?"),
    ("invoice", "en"): (
        "Give me the invoice of order {n} as JSON with id and total.", "I need the invoice for order {n} in JSON, with its id and total.",
        "Please return the invoice of order {n} as a JSON object with id and total.",
    ),
}  # fmt: skip
"""The wordings of each request."""


@dataclass(frozen=True)
class Made:
    """A trace on the wire with its truth: the mode of failure ("" where none), the request that it asks, and how it should have been."""

    ident: str
    mode: str
    request: str
    fields: Json
    corrected: Json


def step(tool: str, arguments: Json, result: Json | None = None, error: str | None = None) -> Json:
    """A call of a tool."""
    outcome: Json = {"error": error} if error is not None else {"result": result}
    return {"tool": tool, "arguments": arguments, **outcome}


def right(intent: str, language: str, number: int, drawn: random.Random) -> Json:
    """Output and calls as they should be."""
    order = str(number)
    day, total = drawn.randint(2, 27), f"{drawn.randint(11, 89)}.{drawn.randint(10, 99)}"
    found = step(
        "find_order",
        {"order": order},
        {"order": order, "state": "shipped", "arrives": f"{day} November", "total": total},
    )
    german = language == "de"
    match intent:
        case "status":
            said = f"Ihre Bestellung {order} ist unterwegs und kommt am {day}. November an." if german else (
                f"Your order {order} was shipped and arrives on {day} November.")  # fmt: skip
            return {"output": said, "steps": [found]}
        case "refund":
            done = step("refund_order", {"order": order, "amount": total}, {"refunded": total})
            said = f"Ich habe Ihnen {total} Euro für die Bestellung {order} erstattet." if german else (
                f"I have refunded {total} euros for order {order}.")  # fmt: skip
            return {"output": said, "steps": [found, done]}
        case "cancel":
            done = step("cancel_order", {"order": order}, {"cancelled": True})
            return {"output": f"I have cancelled your order {order}.", "steps": [found, done]}
        case _:
            done = step("get_invoice", {"order": order}, {"id": f"R-{order}", "total": total})
            return {"output": f'{{"id": "R-{order}", "total": {total}}}', "steps": [done]}


Break = Callable[[Json, int], Json]


def _steps(good: Json) -> list[Json]:
    steps = good["steps"]
    assert isinstance(steps, list)
    return cast("list[Json]", steps)


MODES: dict[str, tuple[tuple[tuple[str, str], ...], Break]] = {
    "lookup-timed-out": (
        (("status", "en"), ("status", "de")),
        lambda good, n: {**good, "steps": [step("find_order", {"order": str(n)}, error="upstream timed out after 30 s")]},
    ),
    "refund-denied": (
        (("refund", "en"), ("refund", "de")),
        lambda good, n: {**good, "steps": [_steps(good)[0], step("refund_order", {"order": str(n)}, error=f"403: order {n} is locked")]},
    ),
    "empty": ((("status", "en"), ("cancel", "en")), lambda good, _: {**good, "output": ""}),
    "refuses": (
        (("status", "en"), ("refund", "en")),
        lambda _, n: {"output": f"I'm sorry, but I can't help with order {n}.", "steps": []},
    ),
    "cut-off": (
        (("status", "en"), ("status", "de")),
        lambda good, _: {**good, "output": str(good["output"])[:22], "stopReason": "max_tokens"},
    ),
    "loops": (
        (("status", "en"), ("cancel", "en")),
        lambda good, _: {**good, "steps": [*[_steps(good)[0]] * 4, *_steps(good)[1:]]},
    ),
    "no-json": (
        (("invoice", "en"),),
        lambda good, n: {**good, "output": f"Sure! The invoice R-{n} of your order is attached to this message."},
    ),
    "english-to-germans": (
        (("status", "de"),),
        lambda good, n: {**good, "output": f"Your order {n} was shipped and it is on the way to you, we will let you know."},
    ),
    "claims-cancelled": (
        (("cancel", "en"),), lambda good, _: {**good, "steps": _steps(good)[:1]},
    ),
    "placeholder": (
        (("status", "en"), ("invoice", "en")),
        lambda good, _: {**good, "steps": [{**_steps(good)[0], "arguments": {"order": "<order_id>"}}, *_steps(good)[1:]]},
    ),
    "rate-limited": (
        (("refund", "en"), ("invoice", "en")),
        lambda _good, _number: {"output": "", "steps": [], "errorMessage": "429 rate limit of the model reached", "status": "failed"},
    ),
    "user-corrects": (
        (("cancel", "en"), ("refund", "de")),
        lambda good, _: {
            **good, "output": "All done.",
            "extra": {"userTurns": [{"afterStep": 1, "text": "No, not that order!", "correction": True}]},
        },
    ),
}  # fmt: skip
"""Of each planted mode what it befalls, and what it does to a right answer."""


def made(count: int, *, seed: int, failing: float = 0.4, repeated: float = 0.3) -> list[Made]:
    """So many traces: a share of them failing in planted modes, a share asking an earlier request again in other words."""
    drawn = random.Random(seed)  # noqa: S311  no secret
    originals = [_original(number, drawn, failing) for number in range(round(count * (1 - repeated)))]
    traces = list(originals)
    asked: dict[str, list[int]] = {one[1]: [one[4]] for one in originals}
    whole = [_trace(f"t{place}", one, drawn) for place, one in enumerate(traces)]
    while len(whole) < count:
        mode, request, kind, good, _, number = drawn.choice(originals)
        wordings = [place for place in range(len(REQUESTS[kind])) if place not in asked[request]]
        if wordings:
            place = drawn.choice(wordings)
            asked[request].append(place)
            whole.append(_trace(f"t{len(whole)}", (mode, request, kind, good, place, number), drawn))
    drawn.shuffle(whole)
    return whole


Original = tuple[str, str, tuple[str, str], Json, int, int]


def _original(number: int, drawn: random.Random, failing: float) -> Original:
    mode = drawn.choice([*MODES]) if drawn.random() < failing else ""
    kind = drawn.choice(MODES[mode][0] if mode else [*REQUESTS])
    order = 100_000 + 37 * number
    return mode, f"r{number}", kind, right(*kind, order, drawn), drawn.randrange(len(REQUESTS[kind])), order


def _trace(ident: str, original: Original, drawn: random.Random) -> Made:
    mode, request, kind, good, wording, number = original
    bad = MODES[mode][1](good, number) if mode else good
    if not mode and drawn.random() < 0.1:  # an error that a second call made good is no failure
        bad = {**good, "steps": [{**_steps(good)[0], "result": None, "error": "try again"}, *_steps(good)]}
    asked = REQUESTS[kind][wording].format(n=number)
    asked += f" My mail is {MAIL}." if drawn.random() < 0.1 else ""
    return Made(ident, mode, request, _fields(asked, bad), _fields(asked, good))


def _fields(asked: str, answer: Json) -> Json:
    return {
        "agentId": AGENT, "inputs": {"input": asked}, "outputs": {"output": answer["output"]} if answer["output"] else {},
        "toolCallsLog": answer["steps"], **{key: answer[key] for key in ("status", "errorMessage", "extra") if key in answer},
        "stopReason": answer.get("stopReason", "stop"), "triggeredAt": "2026-11-20T10:00:00Z",
    }  # fmt: skip
