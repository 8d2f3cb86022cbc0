"""Elements of a drawing: what they hold is escaped, and their looks come from the page's stylesheet."""

from __future__ import annotations

from functools import cache

from markupsafe import Markup, escape

Attribute = str | float | None


def element(name: str, *inside: str, **attributes: Attribute) -> Markup:
    """The element; `class_` is its class, `_` in other names a hyphen, and what is None is left out."""
    attributes_text = "".join(
        [f' {_name(key)}="{_value(value)}"' for key, value in attributes.items() if value is not None]
    )
    if not inside:
        return Markup(f"<{name}{attributes_text}/>")  # noqa: S704  names are ours, values escaped
    within = "".join([part if isinstance(part, Markup) else escape(part) for part in inside])
    return Markup(f"<{name}{attributes_text}>{within}</{name}>")  # noqa: S704  as above


@cache
def _name(key: str) -> str:
    return key if key == "viewBox" or key.startswith("preserve") else key.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    """The value as it stands between quotation marks: a text escaped, a number with two digits at most."""
    return escape(value) if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def drawing(*inside: str, width: float, height: float, kind: str, label: str | None) -> Markup:
    """The whole drawing; without a label it only repeats what stands beside it, and is left out for who cannot see it."""
    about: dict[str, Attribute] = {"aria_hidden": "true"} if label is None else {"role": "img", "aria_label": label}
    return element(
        "svg", *inside, class_=f"drawn {kind}", viewBox=f"0 0 {width:g} {height:g}", width=width, height=height, **about
    )


def text(x: float, y: float, words: str, *, class_: str = "", anchor: str | None = None, **more: Attribute) -> Markup:
    """A line of text at that point."""
    return element("text", words, x=x, y=y, class_=class_ or None, text_anchor=anchor, **more)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: list[tuple[float, float]], class_: str) -> Markup:
    """A line through those points."""
    steps = " ".join(f"{'L' if at else 'M'}{x:.1f} {y:.1f}" for at, (x, y) in enumerate(points))
    return element("path", d=steps, class_=class_)
