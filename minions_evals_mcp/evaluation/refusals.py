"""The refusals of an evaluation, as a Python caller reads it: in the words of `evaluate`, and with the caller's own lines only."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.presentation.next_steps import PythonCalls, in_terms

E = TypeVar("E", bound=BaseException)
OURS = Path(__file__).parents[1]
_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))


def told_in_python(error: E) -> E:
    """The error as it is to be raised again: a refusal without our frames, another with those that are the caller's.

    What broke in code of ours keeps every frame.
    """
    if isinstance(error, EvalsError):
        terms = PythonCalls()
        error.message_text, error.remedy_text = in_terms(error.message_text, terms), in_terms(error.remedy_text, terms)
        error.args = (error.message_text,)
        return error.with_traceback(None)
    return error.with_traceback(_own(error.__traceback__))


def _own(trace: TracebackType | None) -> TracebackType | None:
    """The frames below our last one, where one of them is the caller's; else all."""
    below, at = trace, trace
    while at is not None:
        if Path(at.tb_frame.f_code.co_filename).is_relative_to(OURS):
            below = at.tb_next
        at = at.tb_next
    at = below
    while at is not None:
        if not at.tb_frame.f_code.co_filename.startswith(_LIBRARIES):
            return below
        at = at.tb_next
    return trace
