"""Frozen types behave as `dataclass(frozen=True, slots=True)` does, before and after their methods were made."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from minions_evals_mcp.frozen_types import frozen_type


@frozen_type
class Point:
    """A point."""

    x: int
    y: int = 2
    marks: list[str] = field(default_factory=list[str])
    key: str = field(default="hidden", repr=False)


@frozen_type
class Named(Point):
    """A point with a name, which must have one."""

    name: str = "origin"

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("no name")


@frozen_type
class Nothing:
    """No field at all."""


class Loose(Point):
    """No frozen type itself."""


def test_a_value_has_its_defaults_a_new_mutable_one_each_time() -> None:
    assert (Point(1).y, Point(1, 3).y, Point(x=1, y=4).y) == (2, 3, 4)
    assert Point(1).marks == []
    assert Point(1).marks is not Point(1).marks


def test_equal_fields_of_one_type_are_equal_and_hash_alike() -> None:
    assert Point(1, marks=["a"]) == Point(1, marks=["a"])
    assert Point(1) != Point(2)
    assert Point(1) != Named(1)
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(Nothing())
    assert {UnorderedKey("a", 1): "first"}[UnorderedKey("a", 1)] == "first"


@frozen_type
class UnorderedKey:
    """What a mapping is keyed by."""

    name: str
    number: int


def test_no_field_can_be_set_or_deleted_and_there_is_no_other_place() -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        delattr(point, "x")
    assert not hasattr(point, "__dict__")
    loose = Loose(1)
    loose.other = 3  # type: ignore[attr-defined]
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        loose.x = 2  # type: ignore[misc]


def test_a_field_that_is_not_to_be_shown_is_not_shown() -> None:
    assert repr(Point(1, key="secret")) == "Point(x=1, y=2, marks=[])"
    assert repr(Named(1, name="n")) == "Named(x=1, y=2, marks=[], name='n')"


def test_what_follows_a_value_s_making_is_done_and_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="no name"):
        Named(1, name="")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=3)  # type: ignore[call-arg]


def test_values_are_copied_replaced_matched_and_sent_to_other_processes() -> None:
    named = Named(1, marks=["a"], name="n")
    assert pickle.loads(pickle.dumps(named)) == copy.deepcopy(named) == named  # noqa: S301  its own
    assert replace(named, x=5) == Named(5, marks=["a"], name="n")
    match named:
        case Named(1, 2, [mark], _, name):
            assert (mark, name) == ("a", "n")
        case _:
            pytest.fail("its fields have their places")


def test_it_declares_what_the_library_s_own_does() -> None:
    @dataclass(frozen=True, slots=True)
    class Point:
        """A point."""

        x: int
        y: int = 2
        marks: list[str] = field(default_factory=list[str])
        key: str = field(default="hidden", repr=False)

    ours = globals()["Point"]
    assert [(one.name, one.type) for one in fields(ours)] == [(one.name, one.type) for one in fields(Point)]
    assert (ours.__slots__, ours.__match_args__, ours.__doc__) == (Point.__slots__, Point.__match_args__, Point.__doc__)
    assert ours.__qualname__ == "Point"
