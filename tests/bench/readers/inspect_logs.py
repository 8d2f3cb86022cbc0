"""Logs that inspect-ai scores itself: `PYTHON tests/bench/readers/inspect_logs.py FOLDER NUMBER SEED`, with a Python that has inspect-ai.

Outputs are scripted; each log has one of its scorers with options, or one of our own, and 1 or 3 epochs with one of its reducers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from random import Random
from typing import Any, cast

inspect, scorers, models, solvers, datasets = (
    cast("Any", import_module(f"inspect_ai{name}"))  # in an environment of its own
    for name in ("", ".scorer", ".model", ".solver", ".dataset")
)
WORDS = "Paris Rome the a an answer is Straße STRASSE Ünïcode 北京 don't 3.14 x-ray yes No BOSTON first Fine.".split()  # noqa: SIM905  short
NUMBERS = [
    "42",
    "-5",
    "5",
    "1000",
    "1,000",
    "$1,000",
    "3.14",
    "60%",
    "60",
    "1e3",
    "0.5",
    "½",
    "2½",
    "10²",
    "−7",
    "007",
    "1.0",
    "1",
    "12.50",
    "€20",
    "1_000",
    "\uff15",
    "3,5",
    "1.234,5",
    "42.",
    "'42'",
    "(42)",
    "<42",
    "١٢",
    "十二",
    "Ⅻ",
    "1/2",
    "inf",
    "nan",
    "+8",
    "--8",
    "0x10",
    "12abc",
]
PATTERNS = (
    r"ANSWER\s*:\s*(\w+)", r"(\d+)", r"answer is (.*)$", r"(\S+)\s*$", r"is (\w+)|: (\w+)", r"(?<=is )(\w+)", r"\*\*(.+?)\*\*",
    r"Paris|Rome", r"(?P<x>[A-Z]\w+)",
)  # fmt: skip
GRADES = ("GRADE: C", "GRADE: I", "GRADE: P", "no idea")
CHOSEN = (
    "ANSWER: {}", "answer : {}.", "**ANSWER: {}**", "ANSWER: ({})", "ANSWER: ${}$", "ANSWER: A\nno\nANSWER: {}", "So ANSWER: {} since",
    "{}", "ANSWER: {},", "ANSWER: **{}**", "ANSWER: {}\nANSWER: B", "ANSWER: {}\n\n", "ANSWER: {}\nthat is all", "ANSWER:{}!",
)  # fmt: skip
REDUCERS = ("mean", "median", "mode", "max", "at_least_1", "pass_at_1")
VALUES: tuple[Any, ...] = ("C", "I", "P", "N", True, False, 0, 1, 0.25, float("nan"))


def reply(text: str) -> Any:
    """A model's output, whose tokens need not be counted."""
    output = models.ModelOutput.from_content("mockllm/model", text)
    output.usage = models.ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def own(value: Callable[[str], Any]) -> Any:
    """A scorer of our own."""

    @scorers.scorer(metrics=[scorers.mean()], name="own")
    def made() -> Any:
        async def score(state: Any, _target: Any) -> Any:
            return scorers.Score(value=value(state.output.completion))

        return score

    return made()


@solvers.solver
def breaks(chance: Random) -> Any:
    """A solver that raises for some samples."""

    async def solve(state: Any, generate: Any) -> Any:
        if chance.random() < 0.15:
            raise ValueError("sandbox lost")
        return await generate(state)

    return solve


class Maker:
    """Tasks with their outputs, by a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)  # noqa: S311  chance, no secret

    def text(self, *, numeric: bool) -> str:
        """A text of words and numbers."""
        pick = self.chance.choice
        share = 0.5 if numeric else 0.15
        words = [pick(NUMBERS if self.chance.random() < share else WORDS) for _ in range(self.chance.randint(0, 6))]
        start = pick(["", "", "**", "The answer is ", "ANSWER: ", "Answer : ", "ANSWER:\n", "  "])
        return start + pick([" ", " ", "\n", ", "]).join(words) + pick(["", ".", "!", "\n", "**", " .", "%"])

    def target(self, *, numeric: bool) -> Any:
        """One target, or several."""
        listed = [
            self.chance.choice(NUMBERS)
            if numeric
            else " ".join(self.chance.choices(WORDS, k=self.chance.choice([1, 1, 2])))
            for _ in range(self.chance.choice([1, 1, 1, 2, 3]))
        ]
        return listed[0] if len(listed) == 1 else listed

    def near(self, target: Any) -> str:
        """An output that says the target, or nearly."""
        pick = self.chance.choice
        said = target if isinstance(target, str) else pick(target)
        said = pick([said, said.upper(), said.lower()])
        start = pick(["", "so ", "ANSWER: ", "It is ", "ANSWER: x\nANSWER: ", "> "])
        return start + said + pick(["", " .", "!", " then", "\n", "\nmore text", "** "])

    def scorer(self, kind: str) -> Any:
        """A scorer of that kind, its options by chance."""
        pick, fold = self.chance.choice, self.chance.random() < 0.6
        place = pick(["begin", "end", "any", "exact"])
        value = pick(VALUES)
        made: dict[str, Callable[[], Any]] = {
            "match": lambda: scorers.match(location=place, ignore_case=fold),
            "numeric": lambda: scorers.match(location=place, numeric=True),
            "includes": lambda: scorers.includes(ignore_case=fold),
            "pattern": lambda: scorers.pattern(pick(PATTERNS), ignore_case=fold, match_all=self.chance.random() < 0.2),
            "answer": lambda: scorers.answer(pick(["letter", "word", "line"])),
            "exact": scorers.exact,
            "f1": lambda: scorers.f1(stop_words=pick([None, ["is"]])),
            "choice": scorers.choice,
            "own": lambda: own(lambda _: value),
            "length": lambda: own(len),
            "mapping": lambda: own(lambda _: {"a": 1, "b": 0}),
            "model": lambda: scorers.model_graded_qa(
                model=models.get_model("mockllm/model", custom_outputs=[reply(pick(GRADES)) for _ in range(60)]),
                partial_credit=True,
            ),
        }
        return made[kind]()

    def task(self, number: int) -> tuple[Any, list[str]]:
        """The task and its outputs."""
        pick = self.chance.choice
        kind = pick(
            [
                "match",
                "numeric",
                "numeric",
                "includes",
                "pattern",
                "answer",
                "exact",
                "f1",
                "choice",
                "own",
                "length",
                "mapping",
                "model",
            ]
        )
        epochs, several = pick([1, 1, 1, 3]), self.chance.random() < 0.4
        samples: list[Any] = []
        outputs: list[str] = []
        for place in range(self.chance.randint(3, 8)):
            letters = "ABCDE"[: self.chance.randint(2, 5)]
            choices: dict[str, Any] = {}
            if kind == "choice":
                target = self.chance.sample(letters, pick([1, 2])) if several else pick(letters)
                choices = {"choices": [f"c{letter}" for letter in letters]}
                said = [pick([pick(letters + "F"), ", ".join(target), "".join(target)]) for _ in range(epochs)]
                outputs += [pick(CHOSEN).format(one) for one in said]
            elif kind == "answer":
                target = pick(["A", "B", "yes", "Paris", "It is so"])
                outputs += [pick(CHOSEN).format(pick([target, target.upper(), "B", "xyz"])) for _ in range(epochs)]
            else:
                target, numeric = self.target(numeric=kind == "numeric"), kind == "numeric"
                near = [self.chance.random() < 0.5 for _ in range(epochs)]
                outputs += [self.near(target) if one else self.text(numeric=numeric) for one in near]
            samples.append(datasets.Sample(id=place + 1, input=f"q{place}", target=target, **choices))
        solver = (
            solvers.multiple_choice(multiple_correct=several)
            if kind == "choice"
            else pick([solvers.generate(), breaks(self.chance)])
        )
        more = [scorers.includes()] if kind not in {"choice", "includes"} and self.chance.random() < 0.15 else []
        reduced = inspect.Epochs(epochs, pick(REDUCERS)) if epochs > 1 and kind != "mapping" else None
        task = inspect.Task(
            dataset=samples,
            solver=solver,
            scorer=[self.scorer(kind), *more],
            name=f"t{number}_{kind}",
            fail_on_error=False,
            epochs=reduced,
        )
        return task, outputs


def main(folder: str, number: int, seed: int) -> None:
    """Writes the logs, as `.json` or `.eval`."""
    maker = Maker(seed)
    for place in range(number):
        task, outputs = maker.task(place)
        model = models.get_model("mockllm/model", custom_outputs=[reply(output) for output in outputs])
        form = maker.chance.choice(["json", "eval"])
        inspect.eval(
            task, model=model, log_dir=folder, log_format=form, display="none", log_level="critical", max_samples=1
        )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
