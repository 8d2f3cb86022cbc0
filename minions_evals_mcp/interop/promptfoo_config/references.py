"""Naming prompts and providers of a config: by label or id, by the beginning of a name (`x*`), or by group (`x` for `x:…`)."""

from __future__ import annotations

from collections.abc import Iterable


def fits(reference: str, names: Iterable[str | None]) -> bool:
    """Returns whether the reference stands for what bears those names."""
    known = [name for name in names if name]
    if reference in known:
        return True
    begins = (f"{reference}:", reference.removesuffix("*")) if reference.endswith("*") else (f"{reference}:",)
    return any(name.startswith(begins) for name in known)


def allowed(references: Iterable[str] | None, names: Iterable[str | None]) -> bool:
    """Returns whether one of the references stands for it; None allows everything."""
    return references is None or any(fits(reference, names) for reference in references)
