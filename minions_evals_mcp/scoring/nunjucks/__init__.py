"""Templates of promptfoo configs: Nunjucks, parsed with Jinja2's parser and carried out as JavaScript means it."""

from minions_evals_mcp.scoring.nunjucks.filters import plain
from minions_evals_mcp.scoring.nunjucks.templates import (
    printed_names,
    prompt_text,
    rendered,
    rendered_of,
    rendered_within,
    templates_in,
    vet_template,
)
from minions_evals_mcp.scoring.nunjucks.values import as_js

__all__ = [
    "as_js",
    "plain",
    "printed_names",
    "prompt_text",
    "rendered",
    "rendered_of",
    "rendered_within",
    "templates_in",
    "vet_template",
]
