"""The kinds of failure, a row each: what a new one is called, said and advised. What finds it is a row of `classify.DETECTORS`."""

from __future__ import annotations

from typing import Literal

from minions_evals_mcp.frozen_types import frozen_type

FailureType = Literal["wrong-output", "hallucination", "format-error", "timeout", "refusal"]


@frozen_type
class FailureWords:
    """The words for one kind of failure.

    `meaning` is what reports say, `cause` what is said of its origin where no step of the log bears it, `advice` what to do
    next. `for_models` tells a model when to choose it; None where rules know it and no model is asked.
    """

    meaning: str
    cause: str
    advice: str
    for_models: str | None
    shows_cause: bool = False
    """Whether a line on it shows the cause even where that quotes no step."""


TALK_CAUSE = "the talk did not end as its checks ask"
"""What is said of a talk with a user that failed: its last answer may be right, and what was done is not."""
SPOKEN_CAUSE = "the answer, or its judge, speaks as if time or turns ran out or work goes on, but no record shows it"
"""What is said of a timeout that only the words of the answer speak of: they may be about its subject."""
ACT_CAUSE = "What the agent did is not what was asked"
"""What is said where a check of calls or of the final state failed, before the reason that it gives."""

FAILURE_TYPES: dict[FailureType, FailureWords] = {
    "timeout": FailureWords(
        meaning="it ran out of time",
        cause="the time limit passed before the agent was done",
        advice="Check the slowest step and the limits on turns and time. Raise a limit only if the agent's work is sound.",
        for_models=None,
        shows_cause=True,
    ),
    "refusal": FailureWords(
        meaning="it declined the task",
        cause="the model declined the task",
        advice="State in the prompt that this task is allowed and what it is for. If it is not allowed, remove the case.",
        for_models="it declined",
    ),
    "format-error": FailureWords(
        meaning="it is not in the required format",
        cause="the reply is not in the form that was asked for",
        advice="Show the required format in the prompt with one example, or have the provider enforce a schema.",
        for_models="it broke the demanded form",
    ),
    "hallucination": FailureWords(
        meaning="it states facts that nothing supports",
        cause="the answer states what its material does not",
        advice="Tell the agent to state only what inputs and tools say, and what to answer when they do not say it.",
        for_models="it states facts that its context or tools do not hold",
        shows_cause=True,
    ),
    "wrong-output": FailureWords(
        meaning="the answer is wrong",
        cause="the answer itself is wrong",
        advice="Compare the costliest case with its expected output, and add what is missing to the prompt.",
        for_models="it is otherwise wrong",
    ),
}
"""In the order in which they are looked for: the first that the evidence holds for is it, the last where none is."""
ASKED_OF_MODELS: dict[FailureType, str] = {
    name: words.for_models for name, words in FAILURE_TYPES.items() if words.for_models is not None
}
"""Those that a model may choose, each with when to."""
