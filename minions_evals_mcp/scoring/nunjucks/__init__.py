"""Templates of promptfoo configs: Nunjucks, parsed with Jinja2's parser and carried out as JavaScript means it."""
