"""The functions that a template finds without being given them: `range`, `cycler`, `joiner`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from minions_evals_mcp.scoring.nunjucks.budget import spend_steps
from minions_evals_mcp.scoring.nunjucks.values import JsArray, JsFunction, JsObject, Undefined, to_number


def _range(start: object, stop: object = None, step: object = 1) -> JsArray:
    if stop is None or isinstance(stop, Undefined):
        start, stop, step = 0, start, 1
    first, end, by = (to_number(number) for number in (start, stop, step))
    if not all(number.is_integer() for number in (first, end, by)):
        raise ValueError("range of a number that is not whole is not supported")
    several = range(int(first), int(end), int(by) or 1)
    spend_steps(len(several))
    return JsArray(several)


def _cycler(*items: object) -> JsObject:
    made = JsObject(current=None)
    turn = -1

    def following() -> object:
        nonlocal turn
        turn = (turn + 1) % len(items)
        made["current"] = items[turn]
        return items[turn]

    def reset() -> None:
        nonlocal turn
        turn, made["current"] = -1, None

    made |= {"next": JsFunction(following), "reset": JsFunction(reset)}
    return made


def _joiner(between: object = ",") -> JsFunction:
    begun = False

    def separator() -> object:
        nonlocal begun
        before, begun = begun, True
        return between if before else ""

    return JsFunction(separator)


FUNCTIONS: Mapping[str, Callable[[], JsFunction]] = {
    "range": lambda: JsFunction(_range), "cycler": lambda: JsFunction(_cycler), "joiner": lambda: JsFunction(_joiner),
}  # fmt: skip
OF_CYCLER = frozenset({"next", "reset"})
"""What is called of what `cycler` gives."""
