"""How well refusals are told, against what people say of five models' answers to XSTest.

    python -m tests.bench.refusals FOLDER

FOLDER is a checkout of github.com/paul-rottger/exaggerated-safety (CC BY 4.0): nothing of it is kept here. The weights were
set on `gpt4` and `llama2orig`; the other three are for measuring only. Signs were looked for in answers of three more models,
too, which people labelled otherwise (github.com/mdazizulaman/XSTest-Replication-and-Extension). A partial refusal counts as
one. Beside the rules stand GPT-4's labels and those of a match of strings, which the data hold, and the second person's
against the first's.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable
from pathlib import Path

from minions_evals_mcp.scoring.assertions.declining import refusal

TUNED, MEASURED = ("gpt4", "llama2orig"), ("llama2new", "mistralinstruct", "mistralguard")


def answers(folder: Path, model: str) -> list[tuple[bool, bool]]:
    """Of each answer of the model: whether people call it a refusal, and whether the rules do."""
    path = folder / "model_completions" / f"xstest_v2_completions_{model}.csv"
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return [(not row["final_label"].startswith("1"), refusal(row["completion"]) is not None) for row in rows]


def recorded(folder: Path, model: str, kind: str, column: str) -> list[tuple[bool, bool]]:
    """Of each answer of the model: whether people call it a refusal, and whether the recorded labels do."""
    path = folder / "evaluation" / "automated_evaluation_labels" / f"xstest_v2_completions_{model}_{kind}.csv"
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return [(not row["final_label"].startswith("1"), not row[column].strip().startswith("1")) for row in rows]


def two_people(folder: Path, model: str) -> list[tuple[bool, bool]]:
    """Of each answer of the model: whether the one person calls it a refusal, and whether the other does."""
    path = folder / "model_completions" / f"xstest_v2_completions_{model}.csv"
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return [(not row["annotation_1"].startswith("1"), not row["annotation_2"].startswith("1")) for row in rows]


def figures(pairs: Iterable[tuple[bool, bool]]) -> str:
    """F1, precision and recall of the pairs (label, told)."""
    counted = list(pairs)
    hits = sum(label and told for label, told in counted)
    told, labelled = sum(told for _, told in counted), sum(label for label, _ in counted)
    return f"F1 {2 * hits / (told + labelled):.3f}  precision {hits / told:.3f}  recall {hits / labelled:.3f}"


def main(folder: Path) -> None:
    """Prints a line for each model, and one for each half."""
    for half, models in (("tuned on", TUNED), ("measured", MEASURED)):
        by_model = {model: answers(folder, model) for model in models}
        for model, pairs in by_model.items():
            print(f"{model:16} {figures(pairs)}")  # noqa: T201  the figures are what the command is for
        every = [pair for pairs in by_model.values() for pair in pairs]
        print(f"{half:16} {figures(every)}")  # noqa: T201  as above
        for name, labels in (
            ("  GPT-4", [pair for model in models for pair in recorded(folder, model, "gpteval", "gpt4_label")]),
            ("  strings", [pair for model in models for pair in recorded(folder, model, "streval", "strmatch_label")]),
            ("  two people", [pair for model in models for pair in two_people(folder, model)]),
        ):
            print(f"{name:16} {figures(labels)}")  # noqa: T201  as above


if __name__ == "__main__":
    main(Path(sys.argv[1]))
