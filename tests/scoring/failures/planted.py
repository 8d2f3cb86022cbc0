"""Runs with one planted fault in their log, and sound ones, made by chance over domains, names, languages and kinds of ids."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.failures.failed import FailedOutput

PEOPLE = (
    "Anna Berg", "Tomás Rivera", "Lucie Moreau", "Jonas Keller", "Mirela Popa", "Oluwaseun Ade", "Petra Lind", "Ikram Haddad",
    "Marco Bellini", "Sofia Duarte", "Noor Rahman", "Erik Solberg", "Hanna Vogt", "Claire Fontaine", "Dmitri Volkov", "Ana Prado",
)  # fmt: skip
CITIES = ("Graz", "Porto", "Lyon", "Bergen", "Turin", "Leeds", "Sevilla", "Kassel", "Ghent", "Nantes")
DOMAINS = (
    ("order", "refund_order", "cancel_order", "refund", "amount"),
    ("booking", "cancel_booking", "extend_booking", "cancel", "fee"),
    ("invoice", "send_invoice", "delete_invoice", "send", "total"),
    ("ticket", "close_ticket", "assign_ticket", "close", "hours"),
    ("loan", "renew_loan", "cancel_loan", "renew", "fine"),
    ("contract", "archive_contract", "delete_contract", "archive", "value"),
    ("shipment", "book_courier", "cancel_courier", "book", "weight"),
    ("policy", "renew_policy", "close_policy", "renew", "premium"),
)
"""A thing, the tool that does what is asked, one that does another thing, the verb, a figure of the thing."""
ASKED: dict[str, tuple[str, ...]] = {
    "en": (
        "Please {verb} the {thing} {code} of {person}.",
        "{person} from {city} writes: can you {verb} {thing} {code}?",
        "Customer {person} wants us to {verb} {thing} {code} by {day}.",
    ),
    "de": (
        "Bitte {verb} für {person}: Nummer {code} ({thing}).",
        "{person} aus {city} bittet: {verb} {thing} {code}, bitte bis {day}.",
    ),
    "fr": (
        "{verb} {thing} {code} pour {person}, s'il vous plaît.",
        "{person} ({city}) demande : {verb} {thing} {code} avant le {day}.",
    ),
}
DONE: dict[str, str] = {
    "en": "The {thing} {code} of {person} is done, {figure} {amount}, reference {reference}.",
    "de": "{thing} {code} von {person} ist erledigt, {figure} {amount}, Referenz {reference}.",
    "fr": "C'est fait pour {person} : {thing} {code}, {figure} {amount}, référence {reference}.",
}


@dataclass(frozen=True, slots=True)
class Planted:
    """A failed run and what is wrong in it: the steps (from 1) of which one must be named, or the tool that was left out."""

    failed: FailedOutput
    steps: frozenset[int]
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """What one run is about."""

    chance: random.Random
    domain: tuple[str, str, str, str, str]
    language: str
    person: str
    other: str
    city: str
    code: str
    person_id: str | int
    other_id: str | int
    amount: float
    day: str
    reference: str

    @property
    def inputs(self) -> Json:
        """The request."""
        thing, _, _, verb, _ = self.domain
        asked = self.chance.choice(ASKED[self.language])
        text = asked.format(verb=verb, thing=thing, code=self.code, person=self.person, city=self.city, day=self.day)
        return {self.chance.choice(("input", "question", "ticket", "task")): text}

    def answer(self, amount: float | None = None) -> str:
        """What the agent says in the end."""
        thing, _, _, _, figure = self.domain
        return DONE[self.language].format(
            thing=thing,
            code=self.code,
            person=self.person,
            figure=figure,
            amount=amount or self.amount,
            reference=self.reference,
        )

    def steps(self) -> list[ToolCall]:
        """A sound course: the person, the thing, the deed."""
        thing, does, _, _, figure = self.domain
        people: Json = {
            "results": [
                {"id": self.person_id, "name": self.person, "city": self.city},
                {"id": self.other_id, "name": self.other, "city": self.chance.choice(CITIES)},
            ]
        }
        return [
            ToolCall(tool="search_customers", arguments={"query": self.person}, result=people),
            ToolCall(
                tool=f"list_{thing}s",
                arguments={"customer_id": self.person_id},
                result=[{f"{thing}_id": self.code, "state": "open"}],
            ),
            ToolCall(
                tool=f"get_{thing}",
                arguments={f"{thing}_id": self.code},
                result={f"{thing}_id": self.code, figure: self.amount, "created": self.day, "state": "open"},
            ),
            ToolCall(
                tool=does,
                arguments={f"{thing}_id": self.code, figure: self.amount},
                result={"ok": True, "reference": self.reference},
            ),
        ]


def scene(seed: int) -> Scene:
    """A scene by chance."""
    chance = random.Random(seed)  # noqa: S311  scenes, no secrets
    person, other = chance.sample(PEOPLE, 2)
    first, second = chance.sample(range(1000, 9999), 2)
    form = chance.randrange(4)
    day = dt.date(2026, 1, 1) + dt.timedelta(days=chance.randrange(360))
    return Scene(
        chance=chance,
        domain=chance.choice(DOMAINS),
        language=chance.choice(("en", "en", "de", "fr")),
        person=person,
        other=other,
        city=chance.choice(CITIES),
        code=_code(chance),
        person_id=_person_id(first, form),
        other_id=_person_id(second, form),
        amount=round(chance.uniform(11, 900), 2),
        day=day.isoformat(),
        reference=f"REF{chance.randrange(10_000, 99_999)}",
    )


def _person_id(number: int, form: int) -> str | int:
    return (number, f"C-{number}", f"cus_{number}x{number % 7}", f"{number}-{number % 89}K")[form]


def _code(chance: random.Random) -> str:
    number = chance.randrange(1001, 99_999)
    return chance.choice(
        (f"A-{number}", f"{number}", f"ORD{number}", f"{number}/26", f"x{number:x}-{number % 97}", f"#{number}")
    )


def failed(inputs: Json, steps: list[ToolCall], answer: str, *checks: Assertion) -> FailedOutput:
    """The run that did not pass."""
    return FailedOutput(
        output={"output": answer}, text=answer, inputs=inputs, expected=None, tool_calls=tuple(steps), has_log=True, timed_out=False,
        stop_reason=None, wants_json=False, agent_error=None, score_fraction=0.0, criteria=(), checks=checks,
    )  # fmt: skip


def sound(seed: int) -> Planted:
    """A run whose log is right; it failed for something else. Some recover from an error, ask twice, or look at a second thing."""
    plan = scene(seed)
    steps = plan.steps()
    match seed % 5:
        case 1:
            steps.insert(2, steps[2].model_copy(update={"result": None, "error": "503 service unavailable"}))
        case 2:
            steps.insert(
                1,
                ToolCall(
                    tool="get_policy_text",
                    arguments={"topic": plan.domain[3]},
                    result="Allowed within 30 days of purchase.",
                ),
            )
        case 3:
            steps.append(steps[2].model_copy(update={"result": {**_fields(steps[2]), "state": "done"}}))
        case _:
            pass
    return Planted(
        failed(plan.inputs, steps, plan.answer(), Assertion(type="icontains", value="kind regards")), frozenset()
    )


def _fields(step: ToolCall) -> Json:
    return step.result if isinstance(step.result, dict) else {}


def wrong_argument(seed: int) -> Planted:
    """A code with another digit, an amount that nobody gave, or the name of somebody else."""
    plan = scene(seed)
    steps = plan.steps()
    place = (2, 3, 0)[seed % 3]
    name, value = {
        2: (f"{plan.domain[0]}_id", _another_digit(plan.code)),
        3: (plan.domain[4], round(plan.amount * 1.7 + 13, 2)),
        0: ("query", plan.chance.choice([one for one in PEOPLE if one not in {plan.person, plan.other}])),
    }[place]
    steps[place] = steps[place].model_copy(update={"arguments": {**steps[place].arguments, name: value}})
    return Planted(failed(plan.inputs, steps, plan.answer()), frozenset({place + 1}))


def _another_digit(code: str) -> str:
    place = max(
        at
        for at, letter in enumerate(code)
        if letter.isdigit() and at < len(code) - (2 if "/" in code or "-" in code else 0)
    )
    return code[:place] + str((int(code[place]) + 3) % 10) + code[place + 1 :]


def swapped_entity(seed: int) -> Planted:
    """The id of the other customer."""
    plan = scene(seed)
    steps = plan.steps()
    steps[1] = steps[1].model_copy(update={"arguments": {"customer_id": plan.other_id}})
    return Planted(failed(plan.inputs, steps, plan.answer()), frozenset({2}))


def stale_id(seed: int) -> Planted:
    """An id that a result said was replaced, or a token that was renewed."""
    plan = scene(seed)
    thing, figure = plan.domain[0], plan.domain[4]
    newer = _another_digit(plan.code)
    steps = plan.steps()
    if seed % 2:
        key = plan.chance.choice(("replaced_by", "current_id", f"new_{thing}_id", "superseded_by"))
        steps[2] = steps[2].model_copy(
            update={"result": {f"{thing}_id": plan.code, key: newer, figure: plan.amount, "state": "moved"}}
        )
        return Planted(failed(plan.inputs, steps, plan.answer()), frozenset({4}))
    old, new = f"tok_{plan.chance.randrange(10**6):06d}a", f"tok_{plan.chance.randrange(10**6):06d}b"
    opened = ToolCall(tool="open_session", arguments={}, result={"session": old})
    renewed = ToolCall(tool="refresh_session", arguments={}, result={"session": new})
    last = steps[3].model_copy(update={"arguments": {**steps[3].arguments, "session": old}})
    return Planted(failed(plan.inputs, [opened, *steps[:3], renewed, last], plan.answer()), frozenset({6}))


def ignored_result(seed: int) -> Planted:
    """An answer with another figure, day or reference than the result gave."""
    plan = scene(seed)
    steps = plan.steps()
    right = plan.answer()
    match seed % 3:
        case 0:
            return Planted(failed(plan.inputs, steps, plan.answer(round(plan.amount * 1.31 + 7, 2))), frozenset({3, 4}))
        case 1:
            return Planted(failed(plan.inputs, steps, right.replace(plan.reference, "REF10007")), frozenset({4}))
        case _:
            wanted = Assertion(type="icontains", value=plan.reference)
            text = right.split(",", maxsplit=1)[0] + "."
            return Planted(failed(plan.inputs, steps, text, wanted), frozenset({4}))


def loop(seed: int) -> Planted:
    """The same look-up again and again."""
    plan = scene(seed)
    steps = plan.steps()
    place, times = plan.chance.randrange(3), plan.chance.randrange(3, 7)
    if seed % 3 == 0:
        said = ["open", "status", "please", "now", "detail", "all"]
        again = [
            steps[place].model_copy(update={"arguments": {**steps[place].arguments, "hint": said[n]}})
            for n in range(times)
        ]
    else:
        again = [steps[place]] * times
    return Planted(failed(plan.inputs, [*steps[:place], *again], ""), frozenset(range(place + 1, place + times + 1)))


def swallowed_error(seed: int) -> Planted:
    """An error that the run went on from."""
    plan = scene(seed)
    steps = plan.steps()
    place = plan.chance.choice((1, 2, 3))
    shown = plan.chance.choice(
        (
            {"error": "409 conflict: record is locked"}, {"error": "connection reset by peer"},
            {"result": {"status": "error", "message": "denied"}},
            {"result": {"success": False, "reason": "quota"}}, {"result": "Error: row not found"}, {"result": {"status_code": 500}},
        )
    )  # fmt: skip
    steps[place] = steps[place].model_copy(update={"result": None, **shown})
    return Planted(failed(plan.inputs, steps, plan.answer()), frozenset({place + 1}))


def wrong_tool(seed: int) -> Planted:
    """Another deed than the one that was asked for."""
    plan = scene(seed)
    steps = plan.steps()
    steps[3] = steps[3].model_copy(update={"tool": plan.domain[2]})
    checks = [Assertion(type="trajectory:tool-used", value=plan.domain[1])] if seed % 2 else []
    return Planted(failed(plan.inputs, steps, plan.answer(), *checks), frozenset({4}))


def missing_step(seed: int) -> Planted:
    """A step of the expected trajectory that was left out."""
    plan = scene(seed)
    steps = plan.steps()
    left_out = plan.chance.choice((1, 2, 3))
    wanted = [step.tool for step in steps]
    value: list[str] = wanted if seed % 2 else [wanted[left_out]]
    check = Assertion(type="trajectory:tool-sequence" if seed % 2 else "trajectory:tool-used", value=[*value])
    tool = steps[left_out].tool
    del steps[left_out]
    return Planted(failed(plan.inputs, steps, plan.answer(), check), frozenset({left_out}), tool)


FAULTS: dict[str, Callable[[int], Planted]] = {
    fault.__name__.replace("_", " "): fault
    for fault in (
        wrong_argument,
        swapped_entity,
        stale_id,
        ignored_result,
        loop,
        swallowed_error,
        wrong_tool,
        missing_step,
    )
}


def without_log(run: Planted) -> FailedOutput:
    """The same run where nobody recorded its calls."""
    return replace(run.failed, tool_calls=(), has_log=False)
