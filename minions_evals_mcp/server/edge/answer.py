"""The form of every answer, as tools publish and build it. With `fields` it has only what was asked for, so little is required."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, JsonValue, SerializeAsAny, WithJsonSchema
from pydantic.alias_generators import to_camel

Object = Annotated[SerializeAsAny[BaseModel] | dict[str, JsonValue], WithJsonSchema({"type": "object"})]
"""A value of the engine as it is, or a part of one. Published as an object: its fields would cost each caller hundreds of tokens."""
Objects = Sequence[Object]


class ToolAnswer(BaseModel):
    """The fields of every answer: the summary, whether something was shortened, where the rest begins, what to do next."""

    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, serialize_by_alias=True, extra="forbid", defer_build=True
    )
    summary: str
    truncated: bool = False
    next_cursor: str | None = None
    next: Sequence[str] = ()

    @classmethod
    def of(cls, value: BaseModel, /, *, without: Collection[str] = (), **values: object) -> Self:
        """The answer that has the fields of a value of the engine but those, and what is said besides."""
        fields = {name: part for name, part in value if name not in without}
        return cls.model_validate({**fields, **values})

    def wire(self) -> dict[str, JsonValue]:
        """Returns what was said, as it goes out, the summary first; what is unknown is left out."""
        fields = self.model_dump(mode="json", include=self.model_fields_set)
        return {name: value for name, value in fields.items() if value is not None}
