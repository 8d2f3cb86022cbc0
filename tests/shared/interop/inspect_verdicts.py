"""Writes what inspect-ai says of outputs of ours: `PYTHON tests/shared/interop/inspect_verdicts.py > …/inspect_verdicts.jsonl`.

Runs in an environment of its own that has inspect-ai (0.3.285); the tests read the file that it wrote.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any, cast

PLAIN = [
    "42",
    "The answer is 142",
    "It is 1,000.",
    "-5",
    "so **42**",
    "42!",
    "<42",
    "42%",
    "Paris",
    "It is Paris!",
    "PARIS is it",
    "paris, then",
]
NUMBERS = [
    "$1,000",
    "1e3",
    "½",
    "2½",
    "−7",
    "10²",
    "\uff15",
    "3,5",
    "(42)",
    "42.0",
    "about 42 or 43",
    "1_000",
    "0x2A",
    "nan",
    "x",
]
SPELLED = ["", "The Paris", "a paris.", "Paris-Rome", "paris 3.0", "3", "Straße", "STRASSE", "it is it is"]
ANSWERS = [
    "ANSWER: B", "answer : b.", "ANSWER: A\nwait\nANSWER: B", "**ANSWER: B**", "ANSWER: (B)", "ANSWER: BC", "ANSWER: B then",
    "ANSWER: yes!", "ANSWER: It is so\n\n", "ANSWER: It is so\nThat is all", "I say B", "ANSWER: $B$", "ANSWER: A, B", "ANSWER: AB",
    "ANSWER: D",
]  # fmt: skip
TARGETS: dict[str, list[Any]] = {
    "match": ["42", "Paris", ["Rome", "paris"], "."],
    "numeric": ["42", "1000", "-5", "2.5", "-7", "100", "5", "Paris", ["7", "1e3"]],
    "includes": ["42", "paris", "strasse", ["Rome", "It is"]],
    "words": ["Paris", "the paris", "3", ["Rome", "paris rome"], "it is it"],
    "answer": ["B", "yes", "It is so"],
    "choice": ["B", ["A", "B"], "A,B", "C"],
}


def groups() -> list[dict[str, Any]]:
    """What is asked: a scorer with options, each of the targets with each of the outputs; of choices, whether several may be right."""
    out: list[dict[str, Any]] = []

    def add(scorer: str, options: list[dict[str, Any]], targets: list[Any], outputs: list[str], **more: Any) -> None:
        asked = {"targets": targets, "outputs": outputs, **more}
        out.extend({"scorer": scorer, "options": option, **asked} for option in options)

    places = [{"location": place} for place in ("begin", "end", "any", "exact")]
    add("match", [*places, {"ignore_case": False}], TARGETS["match"], PLAIN)
    add("match", [{**place, "numeric": True} for place in places], TARGETS["numeric"], [*PLAIN, *NUMBERS])
    add("includes", [{}, {"ignore_case": False}], TARGETS["includes"], [*PLAIN, *SPELLED])
    add("exact", [{}], TARGETS["words"], [*PLAIN, *SPELLED])
    add("f1", [{}, {"stop_words": ["is"]}], TARGETS["words"], [*PLAIN, *SPELLED])
    patterns = [r"answer is (.*)$", r"(\d+)", r"It is (\w+)|so (\S+)", r"paris|rome", r"(?<=is )(\w+)"]
    options = [{"pattern": one, **more} for one in patterns for more in ({}, {"match_all": True})]
    add("pattern", options, ["142", "paris", "**42**"], PLAIN)
    add("answer", [{"pattern": kind} for kind in ("letter", "word", "line")], TARGETS["answer"], ANSWERS)
    add("choice", [{}], ["B", "C"], ANSWERS, choices=3, multiple=False)
    add("choice", [{}], TARGETS["choice"], ANSWERS, choices=3, multiple=True)
    return out


async def judged(group: dict[str, Any]) -> dict[str, Any]:
    """The group with the value that inspect-ai's own scorer gives each output, target by target."""
    scorers, model, solver, choosing = (
        cast("Any", import_module(f"inspect_ai.{name}"))  # in an environment of its own
        for name in ("scorer", "model", "solver", "solver._multiple_choice")
    )

    async def value(target: Any, output: str) -> Any:
        choices = ["x"] * group.get("choices", 0)
        state = solver.TaskState(
            model=model.ModelName("mockllm/model"), sample_id=1, epoch=1, input="q", messages=[], choices=choices or None,
            output=model.ModelOutput.from_content("mockllm/model", output),
        )  # fmt: skip
        if choices:
            choosing.set_choices_based_on_generated_response(state, choosing.parse_answers(state, group["multiple"]))
        score = await getattr(scorers, group["scorer"])(**group["options"])(state, scorers.Target(target))
        return score.value

    values = [[await value(target, output) for output in group["outputs"]] for target in group["targets"]]
    return {**group, "values": values}


async def main() -> None:
    """Writes a group a line."""
    for group in groups():
        sys.stdout.write(json.dumps(await judged(group), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    import anyio

    anyio.run(main)
