"""People as judges in the terminal: one output at a time, undo, leave and come back; and people against the model."""

from __future__ import annotations

from signal import SIGINT
from typing import IO

import pytest
from pydantic import JsonValue

from minions_evals_mcp.cli.commands import COMMANDS
from tests.cli.suites import answer, record, suite
from tests.hang import HANG_S
from tests.shared.cli.standby import Asked
from tests.shared.cli.terminal import Ended, Json, Terminal, shown_on_terminal

ONES: list[JsonValue] = [
    {"criterionId": name, "score": 1, "rationale": "it reads well"} for name in ("r/tone", "r/facts")
]


def imported(at: Terminal, *further: list[str], judge_type: str = "human", size: int = 2) -> list[Ended]:
    """A benchmark whose outputs are judged for tone (0 to 1) and facts (0 to 5), run as `k`; then those commands."""
    names = [f"c{n}" for n in range(size)]
    asked: Json = {"rubricId": "r", "weight": 0.5, "judgeType": judge_type}
    parts = [
        record("r", "rubric", name="r", passingThreshold=0.5, criteriaIds=["r/tone", "r/facts"]),
        record("r/tone", "rubric-criterion", name="Tone", scoringGuide="1 is warm", **asked),
        record("r/facts", "rubric-criterion", name="Facts", maxScore=5, **asked),
        *(record(name, "test-case", name=f"Case {name}", inputs={"q": name}, rubricId="r") for name in names),
        *(answer(f"a{name}", name, f"Out \x1b[31m{name}", promptVersionRef="p@7") for name in names),
        record("b", "benchmark", name="b", dimension="quality", testCaseIds=[*names]),
    ]
    file = at.file("s.json", suite(*parts))
    taken, ran, *others = at.many(["import", file], ["run-benchmark", "b", "--key", "k"], *further)
    assert (taken.code, ran.code) == (0, 0)
    return others


@pytest.fixture
def at(at: Terminal) -> Terminal:
    """A terminal of Anna's."""
    return at.person("anna")


def test_the_commands_are_listed() -> None:
    assert {"judge", "agreement", "view"} <= COMMANDS.keys()


def test_a_person_judges_undoes_leaves_and_comes_back(at: Terminal) -> None:
    imported(at)
    first = at.run(
        "judge",
        "--by",
        "anna",
        stdin="m\n2\nx\n1\nit is kind\nu\n0.5\nit is so so\n4\nit is well\nu\n5\nall is right here\n\n1\nbegun\n",
    )
    assert first.code == 0, first.err
    assert "criterion 1 of 2: Tone\n  1 is warm" in first.out
    assert "Out ⟨U+001B⟩[31mc" in first.out
    assert "2 is outside 0 to 1" in first.out
    assert "'x' is not a number" in first.out
    assert "Tone 0.5, Facts 4. Press Enter to submit" in first.out
    assert "Tone 0.5, Facts 5. Press Enter to submit" in first.out
    assert "p@7" not in first.out
    assert "1 submitted. Continue with" in first.out
    last = at.run("judge", "--by", "anna", stdin="0\nu\nu\n0\n\n0\nit is curt\n2\nhm, not sure\n\n")
    assert "1 to be judged" in last.out, "what was begun was not kept"
    assert "This is the first criterion" in last.out
    assert "A score needs a reason." in last.out
    assert "1 submitted. No more outputs wait for a person." in last.out
    empty, run = at.many(["judge", "--json"], ["runs", "k", "--json"])
    assert empty.one() == {"waiting": 0, "question": None, "unasked": {}}
    assert run.one()["state"] == "completed"


def test_a_long_text_is_broken_between_words_at_the_terminal_s_width(at: Terminal) -> None:
    said = " ".join(f"word{number}" for number in range(60))
    at.many(
        ["import", at.file("s.json", suite(
            record("r", "rubric", name="r", passingThreshold=0.5, criteriaIds=["r/tone"]),
            record("r/tone", "rubric-criterion", name="Tone", rubricId="r", weight=0.5, judgeType="human"),
            record("c", "test-case", name="c", inputs={"q": "c"}, rubricId="r"),
            answer("a", "c", said),
        ))],
        ["run-test-case", "c"],
    )  # fmt: skip
    lines = at.run("judge", "--by", "anna", stdin="q\n").out.splitlines()
    shown = [line for line in lines if "word" in line]
    assert len(shown) > 3
    assert max(map(len, shown)) <= 80
    assert " ".join(line.strip() for line in shown) == said


def test_what_was_skipped_waits_on(at: Terminal) -> None:
    imported(at, size=1)
    said = at.run("judge", "k", "--by", "anna", stdin="1\nit is kind\ns\n")
    assert "Continue with: minions-evals judge" in said.out
    assert "submitted" not in said.out


def test_who_is_second_is_told_and_ctrl_c_leaves_the_rest_waiting(at: Terminal) -> None:
    (told,) = imported(at, ["judge", "--json"])
    shown = told.one()["question"]
    assert isinstance(shown, dict)
    first: Json = {"digest": shown["digest"], "judgments": ONES}
    file = at.file("j.json", {"runId": "k", "judgedBy": "bob", "packets": [first]})
    with at.started("judge", "--by", "anna") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        until(process.stdout, b"score from")
        assert Terminal(at.folder).person("bob").run("submit", file).code == 0
        process.stdin.write(b"1\nit is kind\n5\nall is right here\n\n")
        process.stdin.flush()
        until(process.stdout, b"already judged")
        until(process.stdout, b"score from")
        process.send_signal(SIGINT)
        rest, wrong = process.communicate(timeout=HANG_S)
    assert b"Continue with: minions-evals judge" in rest
    assert (process.returncode, wrong) == (0, b"")


def until(stream: IO[bytes], words: bytes) -> bytes:
    """What the stream says up to those words."""
    said = b""
    while words not in said:
        piece = stream.read(1)
        assert piece, said
        said += piece
    return said


def test_a_judge_without_a_name_and_a_run_that_is_not_there_are_refused(at: Terminal) -> None:
    nameless, blank = Terminal(at.folder).many(["judge"], ["judge", "--by", " "])
    nowhere = at.run("judge", "none", "--by", "anna")
    assert (nameless.code, blank.code, nowhere.code) == (2, 2, 2)
    assert "--by YOUR-NAME" in nameless.err
    assert "no run with the id 'none'" in nowhere.err


def test_a_program_gets_the_next_question_as_the_packet_that_submit_takes(at: Terminal) -> None:
    (told,) = imported(at, ["judge", "k", "--json"], size=1)
    question = told.one()["question"]
    assert isinstance(question, dict)
    packets: list[JsonValue] = [{"digest": question["digest"], "judgments": ONES}]
    file = at.file("j.json", {"runId": question["runId"], "judgedBy": "anna", "packets": packets})
    submitted, after = at.many(["submit", file], ["judge", "--json"])
    assert submitted.code == 0
    assert after.one()["question"] is None


def test_what_waits_for_an_agent_is_no_question_to_a_person(at: Terminal) -> None:
    (said,) = imported(at, ["judge", "--by", "anna"], judge_type="llm")
    assert "2 for the requesting agent to judge" in said.out


def test_people_against_the_model_over_a_rejudged_run(at: Terminal) -> None:
    (told,) = imported(at, ["runs", "k", "--json"], judge_type="llm")
    packets = told.one()["packets"]
    assert isinstance(packets, list)
    judged: list[JsonValue] = [{"digest": one["digest"], "judgments": ONES} for one in packets if isinstance(one, dict)]
    file = at.file("j.json", {"runId": "k", "judgedBy": "provider:model", "packets": judged})
    submitted, alone, again = Terminal(at.folder).many(
        ["submit", file], ["agreement", "b"], ["rejudge", "k", "--judge", "human", "--key", "people"]
    )
    assert (submitted.code, alone.code, again.code) == (0, 2, 0)
    assert "minions-evals label b" in alone.err
    assert (
        at.run(
            "judge",
            "people",
            "--by",
            "anna",
            stdin="0\nit is curt\n1\nit reads well\n\n1\nit is kind\n3\nit reads well\n\n",
        ).code
        == 0
    )
    said, limited, told = at.many(["agreement", "b"], ["agreement", "b", "--limit", "1"], ["agreement", "b", "--json"])
    assert "people and the model judged 2 outputs alike in 50 % of 4 judgments" in said.out
    assert "  Tone: 50 % of 2 judgments" in said.out
    assert "kappa" in said.out
    assert (
        "provider:model on r/tone: not enough labels to know whether to trust it: 2 of the 30 labels needed" in said.out
    )
    assert "person 0 of 1  anna: it is curt" in said.out
    assert "model  1 of 1  provider:model: it reads well" in said.out
    assert "and 1 more" in limited.out
    overall = told.one()["overall"]
    assert isinstance(overall, dict)
    assert (overall["judgments"], overall["agreed"]) == (4, 0.5)


def test_without_a_persons_token_nobody_at_a_pipe_is_a_person(at: Terminal) -> None:
    (told,) = imported(at, ["judge", "k", "--json"], size=1)
    question = told.one()["question"]
    assert isinstance(question, dict)
    packets: list[JsonValue] = [{"digest": question["digest"], "judgments": ONES}]
    file = at.file("j.json", {"runId": question["runId"], "judgedBy": "ben", "packets": packets})
    piped = Terminal(at.folder)
    judged, submitted = piped.many(["judge", "--by", "anna"], ["submit", file])
    assert (judged.code, submitted.code) == (2, 2)
    assert "no person is identified here" in judged.err
    assert "MINIONS_EVALS_PERSON_TOKEN" in judged.err
    assert "asks a person" in submitted.err
    wrong = piped.with_env(MINIONS_EVALS_PERSON_TOKEN="person-of-nobody").run("judge", "--by", "anna")
    other = at.run("judge", "--by", "ben")
    assert "belongs to no person" in wrong.err
    assert "--by names ben, but the token belongs to anna" in other.err


def test_people_are_listed_and_removed_and_their_tokens_with_them(at: Terminal) -> None:
    listed, removed, none = at.many(["people", "list", "--json"], ["people", "remove", "anna"], ["people", "list"])
    people = listed.one()["people"]
    assert isinstance(people, list)
    assert [(one["name"], one["hasToken"]) for one in people if isinstance(one, dict)] == [("anna", True)]
    assert "anna is removed" in removed.out
    assert "minions-evals people add NAME" in none.out
    assert "belongs to no person" in at.run("approve", "v", "--by", "anna").err
    assert at.run("people", "remove", "anna").code == 2


def test_at_a_terminal_a_person_confirms_once_who_they_are(at: Terminal) -> None:
    imported(at, size=1)
    piped = Terminal(at.folder)
    denied, asked, known = (typed_at(piped, *lines) for lines in (("b", "q"), ("carla", "q"), ("q",)))
    assert "no person is identified here" in denied
    assert "Are you carla, a person?" in asked
    assert "1 to be judged" in asked
    assert "Are you carla" not in known
    assert "1 to be judged" in known


def typed_at(at: Terminal, *lines: str) -> str:
    """What `judge --by carla` shows on a terminal to somebody who types those lines."""
    return shown_on_terminal(Asked(["judge", "--by", "carla"], str(at.folder), at.environment), *lines)


def test_a_role_is_given_changed_listed_and_holds_at_the_command_line(at: Terminal) -> None:
    imported(at, size=1)
    operator = Terminal(at.folder)
    changed, again, nobody, unknown, listed = operator.many(
        ["people", "role", "anna", "viewer"],
        ["people", "role", "anna", "viewer"],
        ["people", "role", "zoe", "viewer"],
        ["people", "role", "anna", "boss"],
        ["people", "list", "--json"],
    )
    judged = at.run("judge", "--by", "anna")
    assert changed.out == "anna is now a viewer.\n"
    assert again.out == "anna was a viewer already.\n"
    assert (nobody.code, unknown.code, judged.code) == (2, 2, 2)
    assert "no person with the id 'zoe'" in nobody.err
    people = listed.one()["people"]
    assert isinstance(people, list)
    assert [(one["name"], one["role"]) for one in people if isinstance(one, dict)] == [("anna", "viewer")]
    assert "anna is a viewer in this store, and this needs the role judge" in judged.err
    assert "minions-evals people role anna judge" in judged.err
    kept, token = operator.many(["people", "add", "anna", "--json"], ["people", "list"])
    assert kept.one()["name"] == "anna"
    assert "anna  viewer, token" in token.out, "a new token keeps the role"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--http", "0.0.0.0:0"), "--allowed-host"),
        (("--http", "127.0.0.1:0", "--port", "0"), "--port"),
        (("--http", "127.0.0.1:0", "--by", "anna"), "--by"),
        (("--behind-tls",), "--http HOST:PORT"),
        (("--http", "here"), "HOST:PORT"),
    ],
)
def test_options_of_a_teams_page_that_do_not_fit_are_refused(at: Terminal, options: tuple[str, ...], said: str) -> None:
    refused = at.run("view", *options)
    assert refused.code == 2
    assert said in refused.err
