"""A request that cannot be made of the options given, told in their names."""

from __future__ import annotations

from pydantic import ValidationError

from minions_evals_mcp.errors import BadInputError


def refused_option(error: ValidationError, **named: str) -> BadInputError:
    """The first refusal; `named` gives the options that are called otherwise than the request's field."""
    first = error.errors(include_url=False)[0]
    problem = first["msg"].removeprefix("Value error, ")
    field = str(first["loc"][0]) if first["loc"] else ""
    option = named.get(field, f"--{field.replace('_', '-')}")
    return BadInputError(
        f"{option}: {problem}." if field else f"{problem}.", remedy="--help shows what an option takes."
    )
