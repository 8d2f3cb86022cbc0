"""Calling a user's function, sync or async, without blocking the loop."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import cast

import anyio.to_thread

from minions_evals_mcp.domain.definitions import Json

Form = tuple[tuple[object, ...], dict[str, object]]
"""Positional and named arguments."""


def form_for(evaluator: Callable[..., object], response: str, test_case: Json) -> Form | None:
    """The arguments in the first form that the evaluator takes; None where it takes none.

    By name in Python's spelling or the documented one, the response alone, or one mapping of both, as documented.
    """
    forms: list[Form] = [
        ((), {"response": response, "test_case": test_case}),
        ((), {"response": response, "testCase": test_case}),
        ((), {"response": response}),
        (({"response": response, "testCase": test_case},), {}),
    ]
    try:
        signature = inspect.signature(evaluator)
    except (TypeError, ValueError):  # a function of another language tells no signature
        return forms[0]
    return next((form for form in forms if _fits(signature, form)), None)


def _fits(signature: inspect.Signature, form: Form) -> bool:
    try:
        signature.bind(*form[0], **form[1])
    except TypeError:
        return False
    return True


async def answered(function: Callable[..., object], *args: object, **named: object) -> object:
    """Returns what the function returned; a sync one runs in a thread, which a cancelled caller does not wait for."""
    call = partial(function, *args, **named)
    if inspect.iscoroutinefunction(function):
        return await cast("Awaitable[object]", call())
    answer = await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
    return await answer if inspect.isawaitable(answer) else answer  # a callable object, or a lambda around one
