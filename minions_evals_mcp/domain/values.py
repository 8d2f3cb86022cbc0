"""The base of every value: frozen, closed, camelCase on the wire."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from inspect import Parameter, Signature
from typing import Annotated, Any, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    StringConstraints,
)
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

Json = dict[str, JsonValue]

MAX_ID = 128
ID_PATTERN = r"^[A-Za-z0-9._:/@-]{1,128}$"

Id = Annotated[str, StringConstraints(pattern=ID_PATTERN)]
"""1–128 characters of `[A-Za-z0-9._:/@-]`."""
SHORT = 8
_OF_CONTENT = re.compile(r"[a-z-]+:[0-9a-f]{32}")
"""The id of a row without one, by its type and content."""
_MADE = re.compile(r"(eval/([a-z]+/)?)?[0-9a-f]{8}[0-9a-f-]{8,}")
_UUID = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")


def _as_name(given: object) -> object:
    """A number is the name of a version within its prompt."""
    return str(given) if isinstance(given, int) and not isinstance(given, bool) else given


VersionName = Annotated[Id, BeforeValidator(_as_name, json_schema_input_type=str)]
"""A prompt version: its id, `PROMPT@NUMBER`, `PROMPT@latest`, or where the prompt is known its number or `latest`."""

Text = Annotated[str, StringConstraints(pattern=r"\S")]
"""A string with at least one character that is not white space."""

FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Characters that Unicode counts as letters or symbols and that show nothing: Hangul fillers, the blank Braille cell."""


def is_blank(text: str) -> bool:
    """Returns whether the text shows nothing: white space, control and format characters, marks on nothing, fillers only.

    Looked at up to the first NUL, where SQLite's text functions end, so that type and schema agree.
    """
    if text[:1].isascii() and text[:1].isalnum():
        return False
    shown = text.partition("\0")[0]
    return all(unicodedata.category(character)[0] in "ZCM" or character in FILLERS for character in shown)


def is_finite(number: float) -> bool:
    """Whether the number is finite and fits a float; a JSON integer may be too large for one."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def first_named(names: Sequence[str], most: int, *, of: int | None = None, between: str = ", ") -> str:
    """The first `most` of the names, and how many more there are: of all that are given, or of `of`."""
    left = (len(names) if of is None else of) - min(most, len(names))
    return between.join(names[:most]) + (f" and {left} more" if left > 0 else "")


FEW_NAMES, NEAREST = 10, 3
"""The most names that a refusal lists, and how many of a longer list it names."""


def known_names(given: object, known: Collection[str], listed: str = "", *, are: str = "Known are") -> str:
    """The names that are known, where they are few; else the nearest to the given one, and what lists all of them."""
    if len(known) <= FEW_NAMES:
        return f"{are} {', '.join(known)}."
    import difflib  # noqa: PLC0415  for a refusal only

    near = difflib.get_close_matches(str(given)[:LONGEST_GIVEN], [*known], NEAREST, 0)
    nearest = "Nearest" if are[0].isupper() else "nearest"
    return f"{nearest}: {', '.join(near)}." + (
        f" {listed} lists all {len(known)}." if listed else f" There are {len(known)}."
    )


LONGEST_GIVEN = 200
"""So much of a name is compared with those that are known."""


def is_made(ident: str) -> bool:
    """Whether the id was made, and not given by somebody."""
    return (_MADE.fullmatch(ident) or _OF_CONTENT.fullmatch(ident)) is not None


def short_id(ident: str) -> str:
    """The beginning of an id that was made; one that somebody gave is whole."""
    return ident[:SHORT] if _MADE.fullmatch(ident) else ident


def with_short_ids(sentence: str) -> str:
    """A sentence of the store for the eye: the ids that were made are shortened."""
    return _UUID.sub(r"\1", sentence)


def one_line(text: str, limit: int = 300) -> str:
    """The text on one line; of a long one the middle is left out, for a traceback says at its end what went wrong."""
    line = " ".join(text.split())
    half = (limit - 3) // 2
    return line if len(line) <= limit else f"{line[:half].rstrip()} … {line[-half:].lstrip()}"


def known_sum(counts: Iterable[int | None]) -> int | None:
    """The sum of what is known; None where nothing is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _visible(text: str) -> str:
    if is_blank(text):
        raise ValueError("must say something that can be seen")
    return text


Visible = Annotated[str, AfterValidator(_visible)]
"""A string that shows something (HR4: invisible characters are no rationale)."""

Unit = Annotated[float, Field(ge=0, le=1)]
"""A number from 0 to 1."""

Count = Annotated[int, Field(ge=0)]

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A number from 0, such as milliseconds or US dollars."""

GREATEST = 2**53
"""Counts and prices lie below it: what is more, no store and no other program keeps exactly."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def utc(moment: datetime) -> datetime:
    """The same moment in UTC, whole milliseconds."""
    if moment.tzinfo is not UTC:
        try:
            moment = moment.astimezone(UTC)
        except OverflowError:
            raise ValueError("lies outside the years 1 to 9999") from None
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def iso(moment: datetime) -> str:
    """The moment as ISO-8601 in UTC with a `Z`."""
    text = moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")
    return text.replace("+00:00", "Z")


def minute(at: datetime) -> str:
    """The moment to the minute, in UTC."""
    return iso(at)[:16].replace("T", " ")


def from_millis(millis: int) -> datetime:
    """The moment that many milliseconds after 1970 began."""
    return _EPOCH + millis * _MILLISECOND


def to_millis(moment: datetime) -> int:
    """Milliseconds since 1970 began."""
    return (moment - _EPOCH) // _MILLISECOND


Timestamp = Annotated[AwareDatetime, AfterValidator(utc), PlainSerializer(iso, return_type=str, when_used="json")]


V = TypeVar("V", bound=BaseModel)


class _OwnSignature:
    """The signature of a value's type in Python's names: known before the type is built, which is put off."""

    def __get__(self, made: BaseModel | None, kind: type[BaseModel]) -> Signature:
        if made is not None:
            raise AttributeError("__signature__")
        fields = sorted(kind.model_fields.items(), key=lambda named: not named[1].is_required())
        return Signature([_parameter(name, field) for name, field in fields])


def _parameter(name: str, field: FieldInfo) -> Parameter:
    default = Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=field.annotation, default=default)


class Value(BaseModel):
    """A frozen value that refuses unknown keys, NaN and infinities."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        allow_inf_nan=False,
        defer_build=True,  # a process uses few of the types: each is built at its first use
    )

    __signature__ = _OwnSignature()  # pyright: ignore[reportAssignmentType]  read as a signature

    @classmethod
    def __pydantic_on_complete__(cls) -> None:
        """Leaves the type's signature in Python's names; pydantic's is in those on the wire."""
        if "__signature__" in vars(cls) and cls is not Value:
            del cls.__signature__

    @classmethod
    def trusted(cls, **fields: Any) -> Self:
        """The value of fields that fit for certain: they are this program's own, or were checked before. Nothing is checked.

        What is left out has its default. For what is made by the ten thousand: it takes a third of the time.
        """
        absent = _ABSENT.get(cls)
        if absent is None:
            absent = _ABSENT[cls] = {
                name: field.get_default(call_default_factory=True) for name, field in cls.model_fields.items()
            }
        made = _new(cls)  # as `_made`, without its call
        _hold(made, absent | fields)
        _say_set(made, {*fields})
        _say_extra(made, None)
        _say_private(made, None)
        return made

    def with_trusted(self, **fields: Any) -> Self:
        """The value with these fields in place of its own, which fit for certain: as `model_copy`, in a quarter of the time."""
        return _made(type(self), self.__dict__ | fields, self.__pydantic_fields_set__ | fields.keys())


_ABSENT: dict[type[BaseModel], dict[str, Any]] = {}
"""What the fields of a type have that are left out."""
_hold, _say_set, _say_extra, _say_private = (
    vars(BaseModel)[slot].__set__
    for slot in ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
)
"""A value's own slots: a frozen one refuses the ordinary way, and by its name each would be looked up anew."""


_new = object.__new__


def _made(kind: type[V], held: dict[str, Any], given: set[str]) -> V:
    made = _new(kind)
    _hold(made, held)
    _say_set(made, given)
    _say_extra(made, None)
    _say_private(made, None)
    return made


def unknown_key(kind: type[BaseModel], place: Sequence[int | str]) -> str:
    """Returns that the key at that place is unknown, and the key of the same value that may have been meant, or all of them."""
    import difflib  # noqa: PLC0415  for a refusal only

    known = sorted({name for value in _values_at([kind], place[:-1]) for name in _keys(value)})
    near = difflib.get_close_matches(str(place[-1]), known, 1)
    if near:
        return f"unknown key; did you mean {near[0]!r}?"
    if not known:
        return "unknown key"
    return f"unknown key; {known_names(place[-1], known, are='known are')}".removesuffix(".")


def _values_at(kinds: Sequence[type[BaseModel]], place: Sequence[int | str]) -> Sequence[type[BaseModel]]:
    """The types of the value at that place; the names by which a union tells its members apart are passed over."""
    for part in place:
        inner = [
            field.annotation
            for kind in kinds
            for name, field in kind.model_fields.items()
            if part in {name, field.alias}
        ]
        kinds = [value for annotation in inner for value in _types_in(annotation)] or kinds
    return kinds


def _types_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _types_in(inner)


def _keys(kind: type[BaseModel]) -> Iterator[str]:
    for name, field in kind.model_fields.items():
        yield field.alias or name
