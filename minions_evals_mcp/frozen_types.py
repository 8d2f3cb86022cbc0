"""Frozen types whose methods are made at their first use: a start loads hundreds of types, of which a run makes a few.

`dataclass(frozen=True, slots=True)` writes and compiles six methods for each of them, which was a third of a command's start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from functools import cached_property, partial
from reprlib import recursive_repr
from typing import Any, Generic, TypeVar, dataclass_transform

T = TypeVar("T")
N = TypeVar("N", bound=tuple[object, ...])
T_co = TypeVar("T_co", covariant=True)


class once(Generic[T_co]):  # noqa: N801  a decorator, named as `property`
    """A property of a value that is worked out at its first look: `cached_property` without the lock that 3.11 takes for it."""

    def __init__(self, work: Callable[[Any], T_co]) -> None:
        self._work, self._name, self.__doc__ = work, "", work.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> T_co:
        found = instance.__dict__[self._name] = self._work(instance)
        return found


def tuples_of(kind: type[N]) -> Callable[[tuple[object, ...]], N]:
    """Returns what makes a value of a named tuple from all that it holds, in its order: a quarter of the time that its name takes."""
    return partial(tuple.__new__, kind)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen_type(kind: type[T]) -> type[T]:
    """The type as `dataclass(frozen=True, slots=True)` makes it, in a tenth of the time, and its values in two thirds.

    Every field is a parameter that may be given by its place, and counts where values are compared. What a property works out
    once is held beside the fields.
    """

    def first_init(self: Any, *args: Any, **kwargs: Any) -> None:
        made.__init__ = _init_of(made)
        made.__init__(self, *args, **kwargs)

    def first_equal(self: Any, other: object) -> bool:
        made.__eq__, made.__hash__ = _comparison_of(made)
        return made.__eq__(self, other)

    def first_hash(self: Any) -> int:
        made.__eq__, made.__hash__ = _comparison_of(made)
        return made.__hash__(self)

    declared = vars(dataclass(init=False, repr=False, eq=False)(kind))
    names = declared["__dataclass_fields__"]
    inherited = {name for base in kind.__mro__ for name in getattr(base, "__slots__", ())}
    beside = (
        {"__dict__"} if any(isinstance(value, (once, cached_property)) for value in declared.values()) else set[str]()
    )
    space = {
        **_METHODS, "__init__": first_init, "__eq__": first_equal, "__hash__": first_hash,
        **{name: value for name, value in declared.items() if name not in names and name not in _OF_AN_UNSLOTTED},
        "__slots__": tuple(name for name in (*names, *beside) if name not in inherited),
    }  # fmt: skip
    made: Any = type(kind)(kind.__name__, kind.__bases__, space)
    made.__qualname__ = kind.__qualname__
    return made


_OF_AN_UNSLOTTED = frozenset({"__dict__", "__weakref__"})


def _init_of(kind: type[Any]) -> Callable[..., None]:
    """Returns what sets every field by its slot: a frozen type does not refuse that, and it is the fastest way."""
    names: dict[str, Any] = {"_absent": MISSING}
    parameters, body = ["self"], list[str]()
    for part in fields(kind):
        name, value, given = part.name, part.name, ""
        names[f"_set_{name}"] = getattr(kind, name).__set__
        if part.default is not MISSING:
            names[f"_default_{name}"], given = part.default, f"=_default_{name}"
        elif part.default_factory is not MISSING:
            names[f"_make_{name}"], given = part.default_factory, "=_absent"
            value = f"_make_{name}() if {name} is _absent else {name}"
        parameters.append(f"{name}{given}")
        body.append(f"_set_{name}(self, {value})")
    if hasattr(kind, "__post_init__"):
        body.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}): {'; '.join(body) or 'pass'}", names)  # noqa: S102  nothing but fields' names
    return names["__init__"]


def _comparison_of(kind: type[Any]) -> tuple[Callable[[Any, object], bool], Callable[[Any], int]]:
    """The type's `__eq__` and `__hash__`."""
    mine, theirs = ("".join(f"{who}.{part.name}, " for part in fields(kind)) for who in ("self", "other"))
    names: dict[str, Any] = {}
    exec(  # noqa: S102  as above
        f"def equal(self, other): return ({mine}) == ({theirs}) if other.__class__ is self.__class__ else NotImplemented\n"
        f"def hashed(self): return hash(({mine}))",
        names,
    )
    return names["equal"], names["hashed"]


@recursive_repr("...")
def _repr(self: Any) -> str:
    shown = ", ".join(f"{part.name}={getattr(self, part.name)!r}" for part in fields(self) if part.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _refused(self: Any, name: str, *value: object) -> None:
    if "__dataclass_fields__" in vars(self.__class__) or name in self.__class__.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")
    (object.__setattr__ if value else object.__delattr__)(self, name, *value)


def _state(self: Any) -> list[object]:
    return [getattr(self, part.name) for part in fields(self)]


def _restored(self: Any, state: list[object]) -> None:
    for part, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, part.name, value)


_METHODS: dict[str, Any] = {
    "__repr__": _repr, "__setattr__": _refused, "__delattr__": _refused, "__getstate__": _state, "__setstate__": _restored,
}  # fmt: skip
