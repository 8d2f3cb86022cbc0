"""The eleven relations of evaluation, derived from the ids that records hold, and `follows` between prompt versions.

`RelationType` of the Minions SDK (0.2.4) is a closed list that names `references` and `follows`, not our other ten:
its graph keeps them all the same, a type checker that reads the list does not know them.
"""

from __future__ import annotations

from minions_evals_mcp.frozen_types import frozen_type


@frozen_type
class Relation:
    """A directed link between two records."""

    source_id: str
    target_id: str
    type: str


@frozen_type
class RelationType:
    """One kind of link. `holder` is the type whose `field` holds the other side's id (or ids)."""

    source: str
    name: str
    target: str
    holder: str
    field: str

    @property
    def holder_is_source(self) -> bool:
        """Returns whether the id stands in the record that the arrow leaves."""
        return self.holder == self.source


RELATIONS: tuple[RelationType, ...] = (
    RelationType("test-case", "evaluated_by", "rubric", "test-case", "rubricId"),
    RelationType("test-case", "produces", "test-run", "test-run", "testCaseId"),
    RelationType("rubric", "composed_of", "rubric-criterion", "rubric", "criteriaIds"),
    RelationType("test-run", "contains", "eval-judgment", "eval-judgment", "testRunId"),
    RelationType("eval-judgment", "scores", "rubric-criterion", "eval-judgment", "criterionId"),
    RelationType("benchmark", "groups", "test-case", "benchmark", "testCaseIds"),
    RelationType("benchmark", "produces", "benchmark-run", "benchmark-run", "benchmarkId"),
    RelationType("benchmark-run", "aggregates", "test-run", "test-run", "benchmarkRunId"),
    RelationType("benchmark", "tracked_by", "eval-trend", "eval-trend", "benchmarkId"),
    RelationType("eval-failure", "originated_from", "test-run", "eval-failure", "testRunId"),
    RelationType("prompt-comparison", "references", "benchmark-run", "prompt-comparison", "benchmarkRunId"),
)
"""`benchmarkRunId` of a prompt-comparison stands for its two fields `benchmarkRunIdA` and `benchmarkRunIdB`."""
