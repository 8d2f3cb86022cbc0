"""METEOR: the scores that promptfoo 0.123.1 gives with natural 8.1.1, synonyms out of WordNet's files, and where it is refused."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.embedding.wordnet import files_at, synonyms
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.table import check, needs, vet
from minions_evals_mcp.scoring.checks import Checked, Evidence, Subject, SynonymNeed, Unchecked
from tests.scoring.assertions.kinds.wordnet_folder import write_wordnet

MEASURED: list[tuple[str, JsonValue, JsonValue, float]] = [
    ("The quick automobile stopped.", "The fast car stopped.", None, 0.6388888888888888),
    ("the dogs were running", "The dog runs.", None, 0.8243727598566307),
    ("the cat sat on the mat", "on the mat sat the cat", None, 0.5),
    ("nothing alike", "something else entirely", None, 0),
    ("a fast car", ["no match here", "A quick automobile..."], None, 0.625),
    ("the doctor helped us", "the physician aided us", {"alpha": 0.7, "beta": 2, "gamma": 0.3}, 0.98125),
]
"""Output, references, weights and its score; the synonyms in them are those of `wordnet_folder` and of WordNet 3.1 alike."""


def scored(folder: Path, assertion: Assertion, output: str) -> Checked | Unchecked:
    """The verdict with the synonyms of the WordNet at that place."""
    vet(assertion)
    subject = Subject(output)
    wanted = [need for need in needs([assertion], subject) if isinstance(need, SynonymNeed)]
    return check(assertion, subject, Evidence(synonyms=synonyms(wanted, files_at(folder))))


@pytest.mark.parametrize(("output", "value", "config", "score"), MEASURED)
def test_the_score_is_promptfoos(
    tmp_path: Path, output: str, value: JsonValue, config: JsonValue, score: float
) -> None:
    write_wordnet(tmp_path)
    found = scored(tmp_path, Assertion(type="meteor", value=value, config=config), output)
    assert isinstance(found, Checked)
    assert (found.score, found.passed) == (pytest.approx(score, abs=1e-12), score >= 0.5)
    turned = scored(tmp_path, Assertion(type="not-meteor", value=value, config=config, threshold=0.99), output)
    assert isinstance(turned, Checked)
    assert turned.passed


@pytest.mark.parametrize("output", ["", " ", "\n\t", " . "])
def test_an_output_without_words_scores_0_whether_or_not_there_is_a_wordnet(tmp_path: Path, output: str) -> None:
    found = scored(tmp_path, Assertion(type="meteor", value="The fast car stopped."), output)
    assert isinstance(found, Checked), found
    assert found.score == 0


def test_an_archive_as_nltk_keeps_it_is_read_as_it_lies(tmp_path: Path) -> None:
    write_wordnet(tmp_path / "wordnet")
    with zipfile.ZipFile(tmp_path / "wordnet.zip", "w") as packed:
        for path in (tmp_path / "wordnet").iterdir():
            packed.write(path, f"wordnet/{path.name}")
    need = SynonymNeed(("doctor", "aid", "zebra", ""))
    found = synonyms([need], files_at(tmp_path / "wordnet.zip"))
    doctor = frozenset({"doctor", "physician", "repairer"})
    assert found == {need: {"doctor": doctor, "aid": {"aid", "help"}, "zebra": frozenset(), "": frozenset()}}
    assert found == synonyms([need], files_at(tmp_path / "wordnet"))


def test_a_folder_that_lacks_a_file_is_no_wordnet(tmp_path: Path) -> None:
    write_wordnet(tmp_path)
    (tmp_path / "data.verb").unlink()
    assert files_at(tmp_path) is None
    assert files_at(tmp_path / "wordnet.zip") is None


@pytest.mark.parametrize("output", ["", "   ", "..."])
def test_an_output_without_words_scores_nothing(tmp_path: Path, output: str) -> None:
    write_wordnet(tmp_path)
    found = scored(tmp_path, Assertion(type="meteor", value="a word"), output)
    assert isinstance(found, Checked)
    assert (found.score, found.passed) == (0, False)


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"value": 3}, "value"), ({"value": []}, "value"), ({"value": ["a", 1]}, "value"),
        ({"value": "a", "threshold": 2}, "threshold"), ({"value": "a", "config": {"delta": 1}}, "config"),
        ({"value": "a", "config": {"alpha": "x"}}, "config"), ({"value": "a", "config": {"alpha": True}}, "config"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(said: dict[str, JsonValue], field: str) -> None:
    with pytest.raises(InvalidRecordError) as refused:
        vet(Assertion.model_validate({"type": "meteor", **said}, strict=False))
    assert refused.value.field == field
