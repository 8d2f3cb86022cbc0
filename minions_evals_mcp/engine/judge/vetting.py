"""The check that those who are to judge can judge a case, and are to be had: asked before anything runs."""

from __future__ import annotations

from dataclasses import replace

from minions_evals_mcp.embedding.wordnet import vet_wordnet
from minions_evals_mcp.engine.default_judge import how_to_have_a_judge
from minions_evals_mcp.engine.judge.panel import Panel
from minions_evals_mcp.engine.judge.yardstick import ByAssertions, Measure
from minions_evals_mcp.errors import BadInputError, UnsupportedError
from minions_evals_mcp.judges.heuristic import is_rule
from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.scoring.assertions.kinds.meteor import asks_wordnet
from minions_evals_mcp.scoring.assertions.kinds.own import own_names
from minions_evals_mcp.scoring.assertions.kinds.services import services_asked
from minions_evals_mcp.scoring.assertions.kinds.similar import embedders_asked
from minions_evals_mcp.scoring.rubric import RubricInUse

LEAVES_MODELS_OUT = frozenset({"caller", "human", "heuristic"})
"""The choices of who judges under which no model does."""


def vet(panel: Panel, measure: Measure, *, then: Next | None = None) -> None:
    """Raises where the chosen judge cannot judge the case, or one that it names is not to be had.

    Called before anything runs: `UnsupportedError` for the first, `BadInputError` for the second. A rubric is vetted once.
    `then` is the step to take again once a missing key is set.
    """
    if isinstance(measure.yardstick, RubricInUse):
        if measure.yardstick.digest in panel.judged:
            return
        _vet_active(measure, measure.yardstick)
        _vet_criteria(panel, measure.yardstick)
    _vet_own(panel, measure)
    _vet_services(panel, measure)
    for asks in panel.asks(measure):
        if not panel.has(asks):
            raise UnsupportedError(
                f"test-case {measure.case.id}: a check needs a judge model, and {_missing(panel)}.",
                remedy=_without_a_model(panel, then),
            )
        panel.judge(asks.judge)
    if panel.own is not None and isinstance(measure.yardstick, ByAssertions):
        for grader in embedders_asked(measure.yardstick.asking):
            if grader is not None:
                panel.own.embedder(grader)


def _missing(panel: Panel) -> str:
    """The reason why no model grades: none is configured, or the choice of who judges leaves it out."""
    return f"{argument('judge', panel.choice)} leaves it out" if _left_out(panel) else "none is configured"


def _left_out(panel: Panel) -> bool:
    return panel.choice in LEAVES_MODELS_OUT and panel.engine.judge_model() is not None


def _without_a_model(panel: Panel, then: Next | None) -> str:
    """The remedy for a check that a model grades: a model that is set up is left out by the choice of who judges."""
    model = panel.engine.judge_model()
    if _left_out(panel):
        return f"Leave {argument('judge')} out: {model} grades the check. A {panel.choice} judges rubric criteria only."
    if then is not None and panel.choice in LEAVES_MODELS_OUT:
        then = replace(then, arguments={name: value for name, value in then.arguments.items() if name != "judge"})
    after = "" if then is None else f" Then: {then}."
    rubric = " Or make the check a criterion of a rubric, which you can judge." if panel.choice == "caller" else ""
    return f"{how_to_have_a_judge(panel.engine.config.providers)}.{after}{rubric}"


def _vet_own(panel: Panel, measure: Measure) -> None:
    """Refuses a case that is checked by functions of a program which is not this one."""
    if not isinstance(measure.yardstick, ByAssertions):
        return
    for name in own_names(measure.yardstick.assertions):
        if name not in panel.engine.own_checks:
            raise UnsupportedError(
                f"test-case {measure.case.id} is checked by the Python function {name!r}, which is not loaded here.",
                remedy="Run the program that calls evaluate(…) again: only it has the function.",
            )


def _vet_services(panel: Panel, measure: Measure) -> None:
    """Refuses a case that a service is to decide which cannot be asked, or WordNet which is not there."""
    if not isinstance(measure.yardstick, ByAssertions):
        return
    if asks_wordnet(measure.yardstick.asking):
        vet_wordnet()
    for assertion in services_asked(measure.yardstick.asking):
        if panel.own is None:
            raise UnsupportedError(
                f"test-case {measure.case.id}: {assertion.base_type} asks a service,"
                f" under {argument('judge', 'auto')} or {argument('judge', 'llm')}."
            )
        panel.own.vet_service(assertion)


def _vet_active(measure: Measure, rubric: RubricInUse) -> None:
    """Refuses a rubric that is switched off: it judges no new run."""
    if not rubric.rubric.is_active:
        raise BadInputError(
            f"test-case {measure.case.id}: its rubric {rubric.id} is inactive and cannot judge new runs.",
            remedy=f"Set isActive of the rubric {rubric.id} to true, or give the test-case another rubricId.",
        )


def _vet_criteria(panel: Panel, rubric: RubricInUse) -> None:
    kinds = panel.kinds(rubric)
    for ident, criterion in rubric.criteria:
        if kinds[ident] == "heuristic" and not is_rule(criterion):
            raise UnsupportedError(
                f"criterion {ident} of rubric {rubric.id} cannot be judged by rules: its scoringGuide is prose.",
                remedy="Write assertions into the guide, or let a model, the caller or a person judge:"
                f" {argument('judge', 'llm')}, {argument('judge', 'caller')} or {argument('judge', 'human')}.",
            )
        if kinds[ident] == "llm" and panel.llm is None:
            raise UnsupportedError(
                f"{argument('judge', 'llm')} needs a model.",
                remedy=f"{how_to_have_a_judge(panel.engine.config.providers)}."
                f" Without a key use {argument('judge', 'caller')}.",
            )
