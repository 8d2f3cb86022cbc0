"""A module that cannot be imported."""

raise RuntimeError("it never worked")
