"""The environment of every program that this process starts: without any variable of ours."""

from __future__ import annotations

import os
from collections.abc import Mapping

PREFIX = "MINIONS_EVALS_"
WORLD = "MINIONS_EVALS_WORLD"
"""The address of the run's world (`…_URL` and the like): the one variable of ours that an agent under test needs."""


def child_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:  # noqa: TID251  handed on, not read
    """The environment without our tokens, the seal's key, the store's path and our settings.

    The agent under test could otherwise approve as a person, or read its own labels.
    """
    return {
        name: value
        for name, value in environment.items()
        if not name.upper().startswith(PREFIX) or name.startswith(WORLD)
    }
