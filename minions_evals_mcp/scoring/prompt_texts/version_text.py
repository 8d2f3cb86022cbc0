"""The prompt that a prompt version and a case's inputs make."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.scoring.rendering import render

NUNJUCKS = "nunjucks"
"""The tag of a version whose content is in that syntax, as the prompts of a promptfoo config are."""


def version_text(version: PromptVersion, inputs: Mapping[str, JsonValue]) -> str:
    """The version's content rendered in its syntax; raises `BadInputError` for what cannot be rendered."""
    if NUNJUCKS in version.tags:
        from minions_evals_mcp.scoring.nunjucks import prompt_text  # noqa: PLC0415  jinja2 costs what few runs need

        return prompt_text(version.content, inputs)
    return render(version.content, inputs)
