"""A second set of runs with one planted fault, and of sound ones: a clinic, other words and other kinds of ids than in `planted`.

It was written after the rules; two of them were mended by it (a helper's deed before the one that was asked for, and a link followed).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.failures.failed import FailedOutput
from tests.scoring.failures.planted import Planted

PATIENTS = (
    "Yara Haim", "Bo Nilsson", "Chidi Okafor", "Greta Thun", "Luis Campos", "Mei Tan", "Ravi Nair", "Zofia Mazur", "Abel Costa",
    "Ines Roth",
)  # fmt: skip
WARDS = ("Cardiology", "Oncology", "Pediatrics", "Radiology", "Neurology")
DRUGS = ("amoxicillin", "ibuprofen", "metformin", "lisinopril")
IDS = ("MRN%06d", "pt_%05d", "%08d", "P/%04d/24")
ASKED = {
    "en": "{what} for {patient} on the {ward} ward, {date}.",
    "de": "Für {patient} (Station {ward}) bitte: {what}, am {date}.",
    "fr": "{what} pour {patient}, service {ward}, le {date}, merci.",
}
DONE = {"en": "Done: {what}.", "de": "Erledigt: {what}.", "fr": "C'est fait : {what}."}
HIDDEN: tuple[JsonValue, ...] = (
    {"status": "error", "message": "record is locked"}, {"ok": False, "reason": "ward is closed"},
    {"success": False, "detail": "no consent on file"}, "ERROR: interface engine rejected the message",
    {"code": 503, "message": "lab offline"}, {"errors": ["mrn not unique"]},
)  # fmt: skip
OPPOSITES = (
    ("discharge_patient", "transfer_patient"), ("cancel_surgery", "postpone_surgery"), ("archive_chart", "print_chart"),
    ("delete_allergy", "add_allergy"), ("stop_infusion", "start_infusion"),
)  # fmt: skip


def call(tool: str, arguments: Json, result: JsonValue = None, error: str | None = None) -> ToolCall:
    """One call of the log."""
    return ToolCall(tool=tool, arguments=arguments, result=result, error=error)


class Visit:
    """What one run is about, by chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed * 7919 + 13)  # noqa: S311  variations, no secrets
        self.patient, self.other = self.chance.sample(PATIENTS, 2)
        self.ward, self.drug = self.chance.choice(WARDS), self.chance.choice(DRUGS)
        kind = self.chance.choice(IDS)
        self.number, self.others = kind % self.chance.randrange(1000, 9999), kind % self.chance.randrange(1000, 9999)
        self.bed = f"B{self.chance.randrange(1, 9)}{self.chance.randrange(10, 99)}"
        self.dose = self.chance.choice((250, 500, 850, 1000))
        self.date = f"2026-0{self.chance.randrange(1, 9)}-1{self.chance.randrange(0, 9)}"
        self.slot = f"{self.chance.randrange(8, 17):02}:{self.chance.choice((0, 15, 30, 45)):02}"
        self.language = self.chance.choice(tuple(ASKED))

    def run(
        self, what: str, calls: list[ToolCall], done: str, expected: str | None = None, *checks: Assertion
    ) -> FailedOutput:
        """The failed run: what was asked, the calls after the look-up, what was answered."""
        asked = ASKED[self.language].format(what=what, patient=self.patient, ward=self.ward, date=self.date)
        text = DONE[self.language].format(what=done)
        return FailedOutput(
            output={"output": text}, text=text, inputs={"request": asked}, expected={"output": expected} if expected else None,
            tool_calls=tuple(calls), has_log=True, timed_out=False, stop_reason=None, wants_json=False, agent_error=None,
            score_fraction=0.0, criteria=(), checks=checks,
        )  # fmt: skip

    def found(self, *, both: bool = False) -> ToolCall:
        """The look-up of the patient, with a namesake's record where both are found."""
        own: Json = {"patient": self.patient, "mrn": self.number, "ward": self.ward}
        elsewhere = self.chance.choice([ward for ward in WARDS if ward != self.ward])
        records: list[JsonValue] = [own, {"patient": self.other, "mrn": self.others, "ward": elsewhere}]
        self.chance.shuffle(records)
        return call("lookup_patient", {"surname": self.patient.split()[1]}, records if both else own)


def wrong_argument(seed: int) -> Planted:
    """A slot or a day that nobody said."""
    visit = Visit(seed)
    slots = call("free_slots", {"ward": visit.ward, "date": visit.date}, {"slots": [visit.slot]})
    arguments: Json = {"mrn": visit.number, "date": visit.date, "slot": visit.slot}
    if visit.chance.random() < 0.5:
        arguments["date"] = f"2026-1{visit.chance.randrange(3)}-2{visit.chance.randrange(9)}"
    else:
        arguments["slot"] = f"{18 + visit.chance.randrange(3)}:{visit.chance.choice((5, 10, 20)):02}"
    booked = call("book_slot", arguments, {"ok": True})
    return Planted(
        visit.run("Book an examination", [visit.found(), slots, booked], "the examination is booked"), frozenset({3})
    )


def swapped_entity(seed: int) -> Planted:
    """The number of another patient."""
    visit = Visit(seed)
    ordered = call("order_test", {"mrn": visit.others, "test": "blood"}, {"ordered": True})
    return Planted(
        visit.run("Order a blood test", [visit.found(both=True), ordered], "the test is ordered"), frozenset({2})
    )


def stale_id(seed: int) -> Planted:
    """The bed from before the patient was moved."""
    visit, moved = Visit(seed), Visit(seed + 500)
    if seed % 2:
        chart = call("chart", {"mrn": visit.number}, {"bed": visit.bed, "current_bed": moved.bed})
        calls = [visit.found(), chart, call("deliver_meal", {"bed": visit.bed}, {"ok": True})]
    else:
        calls = [
            visit.found(),
            call("assign_bed", {"mrn": visit.number}, {"bed_code": visit.bed}),
            call("move_bed", {"mrn": visit.number}, {"bed_code": moved.bed}),
            call("deliver_meal", {"bed_code": visit.bed}, {"ok": True}),
        ]
    return Planted(visit.run("Send the lunch to the bed", calls, "lunch is on its way"), frozenset({len(calls)}))


def ignored_result(seed: int) -> Planted:
    """Another dose than the one that was looked up."""
    visit = Visit(seed)
    given = call("prescription", {"mrn": visit.number}, {"drug": visit.drug, "dose_mg": visit.dose, "times_a_day": 2})
    done = f"the dose is {visit.dose + 125} mg"
    return Planted(
        visit.run(f"Which dose of {visit.drug}", [visit.found(), given], done, f"{visit.dose} mg"), frozenset({2})
    )


def loop(seed: int) -> Planted:
    """The same page of beds again and again."""
    visit = Visit(seed)
    count = visit.chance.randrange(3, 6)
    page = call("list_beds", {"ward": visit.ward, "state": "free"}, {"beds": [], "more": True})
    run = visit.run("Find a free bed", [visit.found(), *[page] * count], "no bed could be found")
    return Planted(run, frozenset(range(2, 2 + count)))


def swallowed_error(seed: int) -> Planted:
    """An error that stands in a result."""
    visit = Visit(seed)
    asked = call("request_imaging", {"mrn": visit.number, "kind": "x-ray"}, visit.chance.choice(HIDDEN))
    return Planted(visit.run("Request an X-ray", [visit.found(), asked], "the X-ray is requested"), frozenset({2}))


def wrong_tool(seed: int) -> Planted:
    """The opposite of what was asked."""
    visit = Visit(seed)
    called, meant = visit.chance.choice(OPPOSITES)
    verb, thing = meant.split("_")
    calls = [visit.found(), call(called, {"mrn": visit.number}, {"ok": True})]
    return Planted(visit.run(f"{verb.capitalize()} the {thing}", calls, "as asked"), frozenset({2}))


def missing_step(seed: int) -> Planted:
    """A step that the expected trajectory names."""
    visit = Visit(seed)
    tool = visit.chance.choice(("check_allergies", "verify_identity", "get_consent", "notify_ward"))
    whole: list[JsonValue] = ["lookup_patient", tool, "administer"]
    kind = "trajectory:tool-used" if seed % 2 else "trajectory:tool-sequence"
    check = Assertion(type=kind, value=tool if seed % 2 else whole)
    given = call("administer", {"mrn": visit.number, "drug": visit.drug}, {"ok": True})
    return Planted(visit.run(f"Give {visit.drug}", [visit.found(), given], "given", None, check), frozenset(), tool)


def sound(seed: int) -> FailedOutput:
    """A log without a fault: with a namesake, a converted dose, a city by its English name, an empty first search, a retry."""
    visit = Visit(seed + 9000)
    imaging: Json = {"mrn": visit.number, "kind": "x-ray"}
    kilometres = visit.chance.randrange(3, 40)
    match seed % 5:
        case 0:
            slots = call("free_slots", {"ward": visit.ward, "date": visit.date}, {"slots": [visit.slot, "17:45"]})
            booked = call("book_slot", {"mrn": visit.number, "date": visit.date, "slot": visit.slot}, {"ok": True})
            return visit.run("Book an examination", [visit.found(both=True), slots, booked], f"booked at {visit.slot}")
        case 1:
            dose = call("prescription", {"mrn": visit.number}, {"drug": visit.drug, "dose_mg": visit.dose})
            given = call("administer", {"mrn": visit.number, "dose_g": visit.dose / 1000}, {"ok": True})
            return visit.run(
                f"Give {visit.dose} mg of {visit.drug}", [visit.found(), dose, given], f"{visit.dose} mg given"
            )
        case 2:
            route = call(
                "route", {"to": "Vienna", "distance_miles": round(kilometres / 1.609344, 1)}, {"minutes": kilometres}
            )
            booked = call("book_transport", {"mrn": visit.number, "city": "Vienna"}, {"ok": True})
            return visit.run(f"Transport to Wien ({kilometres} km)", [visit.found(), route, booked], "transport booked")
        case 3:
            empty = call("lookup_patient", {"surname": visit.patient.split()[1][:4]}, [])
            chart = call("chart", {"mrn": visit.number}, {"bed": visit.bed, "next_review": "RV-17"})
            meal = call("deliver_meal", {"bed": visit.bed}, {"ok": True})
            return visit.run("Send lunch", [empty, visit.found(), chart, meal], f"lunch goes to {visit.bed}")
        case _:
            busy = call("request_imaging", imaging, None, "503 busy")
            again = call("request_imaging", imaging, {"ok": True, "number": "IM-17"})
            return visit.run("Request an X-ray", [visit.found(), busy, again], "the X-ray is requested")


FAULTS: Mapping[str, Callable[[int], Planted]] = {
    "wrong argument": wrong_argument, "swapped entity": swapped_entity, "stale id": stale_id, "ignored result": ignored_result,
    "loop": loop, "swallowed error": swallowed_error, "wrong tool": wrong_tool, "missing step": missing_step,
}  # fmt: skip
