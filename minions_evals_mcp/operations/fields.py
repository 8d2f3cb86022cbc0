"""The fields of an operation as one interface takes them, and the request that is made of what was given there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Optional, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from minions_evals_mcp.domain.request_fields import BenchmarkId, ModelTarget, More, NameSaysIt
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.operations.table import DEFAULTS, LEFT_OUT, LIMITED, NAMES, Interface, Offer, Operation

R = TypeVar("R", bound=BaseModel)
LIMITED_TYPES: Mapping[str, Any] = {
    "decision": Literal["approved", "refused"],
    "reader": Literal["rules", "caller"],
    "subject": BenchmarkId,
    "target": Optional[ModelTarget],  # noqa: UP045  pyright: an alias and `|` do not go together
}
"""The types of the fields in `LIMITED`."""


@frozen_type
class OfferedField:
    """A field at an interface: `field` is its name in the request, `name` the one at the interface."""

    field: str
    name: str
    info: FieldInfo
    required: bool
    default: object
    limited: Any = None
    """The type at this interface, where it takes less than the request does."""

    @property
    def short(self) -> str:
        """The short description."""
        return self.info.description or ""

    @property
    def long(self) -> str:
        """The long help, else the short description."""
        more = (part.text for part in self.info.metadata if isinstance(part, More))
        return next(more, self.short)

    @property
    def name_says_it(self) -> bool:
        """Whether the name says enough for a model."""
        return any(isinstance(part, NameSaysIt) for part in self.info.metadata)

    @property
    def annotation(self) -> Any:
        """The field's type with its bounds."""
        if self.limited is not None:
            return self.limited
        bounds = [part for part in self.info.metadata if not isinstance(part, More | NameSaysIt)]
        return Annotated[(self.info.annotation, *bounds)] if bounds else self.info.annotation


def offer_at(operation: Operation, interface: Interface) -> Offer:
    """The operation at an interface that offers it."""
    offer = operation.at(interface)
    assert isinstance(offer, Offer), f"{operation.module} is not offered at {interface}: {offer}"
    return offer


def fields_at(operation: Operation, interface: Interface) -> tuple[OfferedField, ...]:
    """The fields of the operation's request that the interface takes, in the request's order."""
    offer = offer_at(operation, interface)
    without = {**LEFT_OUT.get(interface, {}), **offer.left_out}
    names = {**NAMES.get(interface, {}), **offer.names}
    defaults = {**DEFAULTS.get(interface, {}), **{name: default for name, (default, _) in offer.defaults.items()}}
    return tuple(
        OfferedField(
            name,
            names.get(name, name),
            info,
            name in offer.required or (info.is_required() and name not in defaults),
            defaults.get(name, info.get_default(call_default_factory=True)),
            LIMITED_TYPES[name] if name in LIMITED.get(interface, {}) else None,
        )
        for name, info in operation.request.model_fields.items()
        if name not in without
    )


def request_of(
    operation: Operation, interface: Interface, given: Mapping[str, object], kind: type[R], **own: object
) -> R:
    """The request of the values that were given, by the request's names; `own` is what the interface itself says.

    A field that was left to the interface, as who asks is, is not given. Raises `ValidationError`.
    """
    left = {
        name for name, default in DEFAULTS.get(interface, {}).items() if default is None and given.get(name) is None
    }
    assert kind is operation.request, f"{operation.module} takes {operation.request.__name__}"
    return kind.model_validate({**{name: value for name, value in given.items() if name not in left}, **own})


def problem(operation: Operation, interface: Interface, error: ValidationError) -> tuple[str, str]:
    """The first field that does not fit, by its name at the interface (empty for a rule about all), and the reason."""
    first = error.errors(include_url=False)[0]
    called = _names(operation, interface)
    text = _wanted(first)
    place = [str(part) for part in first["loc"]]
    if not place:
        field, colon, reason = text.partition(": ")
        place, text = ([field], reason) if colon and field in called else ([], text)
    where = ".".join([called.get(place[0], place[0]), *place[1:]]) if place else ""
    return where, re.sub(r"\w+", lambda word: called.get(word[0], word[0]), text) if not first["loc"] else text


def _wanted(detail: ErrorDetails) -> str:
    """What a value should have been, in words of no programming language."""
    bounds = detail.get("ctx", {})
    match detail["type"]:
        case "too_short":
            return f"at least {bounds['min_length']} must be given, got {bounds['actual_length']}"
        case "too_long":
            return f"at most {bounds['max_length']} may be given, got {bounds['actual_length']}"
        case _:
            return detail["msg"].removeprefix("Value error, ")


def _names(operation: Operation, interface: Interface) -> dict[str, str]:
    """The name at the interface of each field, by its name in the request and on the wire."""
    own = {offered.field: written(interface, offered.name) for offered in fields_at(operation, interface)}
    return own | {to_camel(name): name_there for name, name_there in own.items()}


def written(interface: Interface, name: str) -> str:
    """A field's name as people write it at that interface."""
    match interface:
        case "cli":
            return name if name.isupper() else f"--{name.rstrip('_').replace('_', '-')}"
        case "mcp" | "message" | "graphql":
            return to_camel(name)
        case "python":
            return name


def given_by(model: BaseModel, operation: Operation, interface: Interface) -> dict[str, object]:
    """The values of a model that was made of the operation's fields at that interface, by the request's names."""
    return {offered.field: cast("object", getattr(model, offered.name)) for offered in fields_at(operation, interface)}
