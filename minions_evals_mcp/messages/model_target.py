"""The target that a message may name: a model, never code or an address."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, StringConstraints

RUNS_CODE = ("python:", "command:", "http:", "https:")


def _model_only(target: str) -> str:
    """A target that runs code or calls an address is the operator's to name, never a message's."""
    if target.startswith(RUNS_CODE):
        raise ValueError("a target that runs code or calls an address is named by the operator")
    return target


ModelTarget = Annotated[str, StringConstraints(min_length=1), AfterValidator(_model_only)]
