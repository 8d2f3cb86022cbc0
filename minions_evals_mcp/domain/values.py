"""The base of every value: frozen, closed, camelCase on the wire."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, PlainSerializer, StringConstraints
from pydantic.alias_generators import to_camel

ID_PATTERN = r"^[A-Za-z0-9._:/@-]{1,128}$"

Id = Annotated[str, StringConstraints(pattern=ID_PATTERN)]
"""1–128 characters of `[A-Za-z0-9._:/@-]`."""

Text = Annotated[str, StringConstraints(pattern=r"\S")]
"""A string with at least one character that is not white space."""

Unit = Annotated[float, Field(ge=0, le=1)]
"""A number from 0 to 1."""

Count = Annotated[int, Field(ge=0)]


def utc(moment: datetime) -> datetime:
    """The same moment in UTC, whole milliseconds."""
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def iso(moment: datetime) -> str:
    """The moment as ISO-8601 in UTC with a `Z`."""
    text = moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")
    return text.replace("+00:00", "Z")


def from_millis(millis: int) -> datetime:
    """The moment that many milliseconds after 1970 began."""
    return datetime.fromtimestamp(millis / 1000, tz=UTC)


def to_millis(moment: datetime) -> int:
    """Milliseconds since 1970 began."""
    return round(moment.timestamp() * 1000)


Timestamp = Annotated[AwareDatetime, AfterValidator(utc), PlainSerializer(iso, return_type=str, when_used="json")]


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
    )
