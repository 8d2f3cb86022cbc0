"""What travels between coordinator and workers arrives as it was sent, but for secrets."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from minions_evals_mcp.cluster.orders import Back, Chunk
from minions_evals_mcp.cluster.wire import packed, unpacked
from minions_evals_mcp.domain.definitions import Rubric, RubricCriterion, TestCase
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.outcomes import Observed, Skipped, UnitKey
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.judge.yardstick import Measure, own_measure
from minions_evals_mcp.engine.run.units import Unit
from minions_evals_mcp.known_secrets import forget, remember
from minions_evals_mcp.scoring.rubric import in_use
from minions_evals_mcp.store.records import Unread
from minions_evals_mcp.store.unit_rows import UnitRows
from tests.workshop import case, rubric, says

SECRET = "sk-that-nobody-may-see"
RUBRIC, WORD = rubric("r", 0.5, word=says("good"))
IN_USE = in_use(cast("Record[Rubric]", RUBRIC), [cast("Record[RubricCriterion]", WORD)])
OWN = own_measure(cast("Record[TestCase]", case("own", assertions=[{"type": "contains", "value": "good"}], tags=["a"])))
RULED = Measure(cast("Record[TestCase]", case("ruled", rubricId="r", expectedOutputs={"output": SECRET})), IN_USE)
UNITS = (
    Unit(UnitKey("j", 0, 1), OWN, kept=Observed(output={"output": "good"})),
    Unit(UnitKey("j", 0, 2), OWN, proposed={"r/word": 1.0}),
    Unit(UnitKey("j", 1, 1), RULED, recorded=Unread(AgentRun, (1, "a", "agent-run", f"says {SECRET}"))),
)
CHUNK = Chunk("chunk", UNITS, {"p": None}, is_live=True)
ROWS = [
    UnitRows(("j", n, 1, f"c{n}", "scored", "", None, None, f"j:{n}.1"), "scored", (f"j:{n}.1", SECRET), events=())
    for n in range(2)
]
ENDED = [(UnitKey("j", number, 1), row) for number, row in enumerate(ROWS)]


def test_a_chunk_arrives_as_it_was_sent() -> None:
    there: Chunk = unpacked(packed(CHUNK))
    assert there == CHUNK
    assert there.units[0].measure is there.units[1].measure, "what is worked out of a case is worked out once"


def test_what_comes_back_arrives_as_it_was_sent() -> None:
    judged, mixed = (
        Back("chunk", ENDED),
        Back("chunk", [*ENDED, (UnitKey("j", 2, 1), Skipped("no"))], [UnitKey("j", 3, 1)]),
    )
    assert unpacked(packed([judged, mixed])) == [judged, mixed]


def test_a_secret_in_any_of_it_stands_there_as_its_mark() -> None:
    remember([SECRET])
    try:
        content = packed([CHUNK, Back("chunk", ENDED)])
        assert SECRET.encode() not in content
        chunk, back = unpacked(content)
    finally:
        forget()
    assert replace(chunk.units[0], measure=OWN) == UNITS[0]
    assert "[secret " in chunk.units[2].measure.case.fields.expected_outputs["output"]
    assert "[secret " in chunk.units[2].recorded.row[3]
    assert "[secret " in back.ended[0][1].run[1]
