"""Options of a command that are derived from the request of its operation."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import field, make_dataclass
from functools import wraps
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from cyclopts import Parameter
from pydantic import BaseModel, ValidationError

from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.operations.fields import OfferedField, fields_at, problem, request_of, written
from minions_evals_mcp.operations.table import Operation, offered_as

R = TypeVar("R", bound=BaseModel)
Command = Callable[..., Awaitable[int]]
_GIVEN = "given"


@frozen_type
class GivenOptions:
    """The values of the derived options, by the names that the request has for them."""

    operation: Operation
    values: Mapping[str, Any]

    def request(self, kind: type[R], **positional: object) -> R:
        """The request of the options and of what was given by position; raises `BadInputError` in the command's own terms."""
        try:
            return request_of(self.operation, "cli", {**self.values, **positional}, kind)
        except ValidationError as error:
            option, reason = problem(self.operation, "cli", error)
            raise BadInputError(
                f"{option}: {reason}." if option else f"{reason}.", remedy="--help shows what an option takes."
            ) from None


def options_of(operation: Operation, names: Iterable[str]) -> type:
    """A group of options: those fields of an operation, as a frozen type with an attribute for each."""
    wanted = frozenset(names)
    fields = [
        (offered.name, _annotation(offered), field(default=cast("Any", _default(offered))))
        for offered in fields_at(operation, "cli")
        if offered.field in wanted
    ]
    made = make_dataclass(f"{operation.request.__name__}Options", fields, frozen=True)
    made.__module__ = __name__  # of `types`, as it is else, cyclopts takes it for a value and not for a group
    return Parameter(name="*")(made)


def help_of(operation: Operation, name: str) -> str:
    """The help of an option that a command declares itself."""
    return next(_help(offered) for offered in fields_at(operation, "cli") if offered.field == name)


def takes(name: str, *, but: Collection[str] = ()) -> Callable[[Command], Command]:
    """Gives a command the options of the operation of that name, and hands their values over as its parameter `given`.

    `but`: fields that another parameter of the command takes.
    """
    operation = offered_as("cli", name)
    offers = fields_at(operation, "cli")
    options = [offered for offered in offers if not offered.name.isupper() and offered.field not in but]

    def derived(command: Command) -> Command:
        own = inspect.signature(command).parameters
        hints = get_type_hints(command, include_extras=True)

        @wraps(command)
        async def carried_out(*args: Any, **kwargs: Any) -> int:
            values = {option.field: kwargs.pop(option.name, option.default) for option in options}
            return await command(*args, **kwargs, given=GivenOptions(operation, values))

        typed = {option.name: _annotation(option) for option in options}
        made = [
            inspect.Parameter(
                option.name, inspect.Parameter.KEYWORD_ONLY, default=_default(option), annotation=typed[option.name]
            )
            for option in options
        ]
        kept = [parameter for parameter in own.values() if parameter.name != _GIVEN]
        by_place = [parameter for parameter in kept if parameter.kind is not inspect.Parameter.KEYWORD_ONLY]
        by_name = [parameter for parameter in kept if parameter.kind is inspect.Parameter.KEYWORD_ONLY]
        carried_out.__annotations__ = {**hints, **typed}
        carried_out.__annotations__.pop(_GIVEN, None)
        vars(carried_out)["__signature__"] = inspect.Signature([*by_place, *made, *by_name])
        return carried_out

    return derived


def _default(option: OfferedField) -> object:
    if option.required:
        return inspect.Parameter.empty
    return None if option.default == () else option.default


def _annotation(option: OfferedField) -> Any:
    kind = plain(option.info.annotation)
    if get_origin(kind) is list or option.default is None:
        kind = kind | None
    switch = kind is bool or get_origin(plain(option.info.annotation)) is list
    name = written("cli", option.name) if option.name.endswith("_") else None
    return Annotated[kind, Parameter(name, help=_help(option), negative="" if switch else None)]


def _help(option: OfferedField) -> str:
    return f"{option.long.rstrip('.')}."


def plain(annotation: Any) -> Any:
    """The type as a command line takes it: no bounds, a tuple as a list, a nested value as text."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return plain(get_args(annotation)[0])
    if origin in {Union, UnionType}:
        parts = [part if part is type(None) else plain(part) for part in get_args(annotation)]
        return Union[tuple(parts)]  # noqa: UP007  the parts are known at run time only
    if origin in {tuple, list}:
        return list[plain(get_args(annotation)[0])]
    is_nested = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return str if is_nested else cast("Any", annotation)
