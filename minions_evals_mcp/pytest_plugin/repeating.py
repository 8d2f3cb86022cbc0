"""A marked test run several times: it passes where enough of its runs do."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import pytest

from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.pytest_plugin.fixture import Evals, Trials


def trials_of(mark: pytest.Mark | None) -> Trials:
    """Returns what `@pytest.mark.evals(trials=…, min_pass_rate=…)` asks for; raises `BadInputError` for what it cannot."""
    options: dict[str, Any] = {} if mark is None else dict(mark.kwargs)
    strange = sorted(options.keys() - {"trials", "min_pass_rate"})
    if strange or (mark is not None and mark.args):
        raise BadInputError("the mark evals takes trials= and min_pass_rate= only.")
    trials, rate = options.get("trials", 1), options.get("min_pass_rate", 1.0)
    if not isinstance(trials, int) or not 1 <= trials <= 1000 or not 0 <= rate <= 1:
        raise BadInputError("the mark evals takes trials from 1 to 1000 and a min_pass_rate from 0 to 1.")
    return Trials(trials, rate)


@dataclass(slots=True)
class _Runs:
    """The runs of one test so far."""

    evals: Evals
    failed: list[AssertionError] = field(default_factory=list[AssertionError])
    done: int = 0

    def more(self) -> bool:
        """Returns whether another run is due: not where the test evaluates cases, of which each has its own trials."""
        if self.done < self.evals.trials.trials and not self.evals.evaluated:
            self.done += 1
            self.evals.begin_trial(self.done)
            return True
        return False

    def settle(self) -> None:
        """Raises where too few passed."""
        __tracebackhide__ = True
        if not self.failed:
            return
        passed, required_rate = self.done - len(self.failed), self.evals.trials.min_pass_rate
        if self.evals.evaluated:
            raise self.failed[-1]
        if passed < required_rate * self.done - 1e-9:
            failure_words = f"{passed} of {self.done} trials passed, {required_rate:.0%} must: {self.failed[-1]}"
            raise AssertionError(failure_words) from self.failed[-1]


def repeated(function: Callable[..., Any], evals: Evals) -> Callable[..., Any]:
    """The test's function, run as often as its mark asks."""
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> None:
            __tracebackhide__ = True
            runs = _Runs(evals)
            while runs.more():
                try:
                    await function(*args, **kwargs)
                except AssertionError as error:
                    runs.failed.append(error)
            runs.settle()

        return awaited

    @wraps(function)
    def ran(*args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        runs = _Runs(evals)
        while runs.more():
            try:
                function(*args, **kwargs)
            except AssertionError as error:
                runs.failed.append(error)
        runs.settle()

    return ran
