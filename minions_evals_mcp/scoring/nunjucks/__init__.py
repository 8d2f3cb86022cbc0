"""Templates of promptfoo configs: Nunjucks, parsed with Jinja2's parser and carried out as JavaScript means it."""

from minions_evals_mcp.scoring.nunjucks.templates import (
    prompt_text,
    rendered,
    rendered_of,
    rendered_within,
    templates_in,
    vet_template,
)

__all__ = ["prompt_text", "rendered", "rendered_of", "rendered_within", "templates_in", "vet_template"]
