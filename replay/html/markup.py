"""HTML and SVG from values: text is escaped unless it was built here."""

from html import escape as _escape


class Markup(str):
    """Text that is markup already; made by ``tag``, ``text`` and ``join`` only."""

    __slots__ = ()


Child = Markup | str | int | float | None


def clean(foreign: str) -> str:
    """Return text without control and direction characters; line breaks stay."""
    return "".join(
        c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in foreign
    )


def text(foreign: object) -> Markup:
    """Return a value as text that cannot be anything but text."""
    return Markup(_escape(clean(str(foreign)), quote=True))


def join(*children: Child) -> Markup:
    """Return children in order; plain text is escaped, None is nothing."""
    return Markup(
        "".join(
            child if isinstance(child, Markup) else text(child)
            for child in children
            if child is not None
        )
    )


def tag(name: str, *children: Child, **attributes: object) -> Markup:
    """Return an element.

    Args:
        name: its name.
        children: its content; see ``join``.
        attributes: ``class_`` becomes ``class``, other underscores become hyphens; None is left
            out, and so is False.
    """
    parts = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        named = "class" if key == "class_" else key.rstrip("_").replace("_", "-")
        parts.append(f" {named}" if value is True else f' {named}="{text(_plain(value))}"')
    return Markup(f"<{name}{''.join(parts)}>{join(*children)}</{name}>")


def _plain(value: object) -> object:
    # Coordinates need no more than a hundredth of a pixel.
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def shorten(foreign: str, limit: int) -> str:
    """Return text of at most ``limit`` characters on one line."""
    line = " ".join(foreign.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def label(x: float, y: float, content: str, **attributes: object) -> Markup:
    """Return a line of SVG text."""
    return tag("text", content, x=x, y=y, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: object) -> Markup:
    """Return an SVG line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def rectangle(x: float, y: float, width: float, height: float, **attributes: object) -> Markup:
    """Return an SVG rectangle."""
    return tag("rect", x=x, y=y, width=max(0.0, width), height=max(0.0, height), **attributes)


def picture(width: float, height: float, title: str, *children: Child) -> Markup:
    """Return an SVG picture that scales with the page."""
    return tag(
        "svg",
        tag("title", title),
        *children,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        role="img",
        aria_label=title,
        style=f"max-width:{width:.0f}px",
    )
