"""Charts of the report: shares of the stack's time, and where the campaign's own time went."""

from arbor.core.tree import ROOT_ID
from arbor.replay.html.markup import Markup, label, picture, rectangle, shorten, tag
from arbor.replay.result_models import Result
from arbor.replay.story import Story
from arbor.replay.wording import PURPOSES, duration

WIDTH = 980.0
NUM_COLOURS = 10
"""Classes ``c0`` to ``c9`` of the style sheet."""
_CHARACTER = 7.6
"""Generous width of a character in the labels inside bars."""


def shares_chart(story: Story) -> Markup | None:
    """Return where the time of every profiled node of the path went."""
    profiled = [
        (node, node.profile)
        for node in story.path()
        if node.profile is not None and node.profile.shares
    ]
    if not profiled:
        return None
    colours = category_colours(story)
    left, right = 170.0, WIDTH - 14.0
    parts = []
    y = 6.0
    for node, profile in profiled:
        name = "baseline" if node.node_id == ROOT_ID else f"+ {node.template_id or ''}"
        parts.append(label(left - 10, y + 16, shorten(name, 24), class_="end small"))
        total = sum(share.share_ratio for share in profile.shares) or 1.0
        x = left
        for share in sorted(profile.shares, key=lambda s: colours[s.category]):
            width = (right - left) * share.share_ratio / max(1.0, total)
            colour = f"c{colours[share.category] % NUM_COLOURS}"
            content = [
                tag("title", f"{share.category}: {share.share_ratio:.1%}"),
                rectangle(x, y, width - 1, 24, class_=colour),
            ]
            percent = f"{share.share_ratio:.0%}"
            forms = (f"{share.category} {percent}", percent)
            words = next((form for form in forms if _fits(form, width)), None)
            if words is not None:
                content.append(label(x + 6, y + 16, words, class_="tiny inside"))
            parts.append(tag("g", *content))
            x += width
        y += 30.0
    y += 8.0
    x = left
    for category, number in colours.items():
        width = 30.0 + 7.0 * len(shorten(category, 20))
        if x + width > right:
            x, y = left, y + 20.0
        parts.append(rectangle(x, y, 11, 11, rx=2, class_=f"c{number % NUM_COLOURS}"))
        parts.append(label(x + 16, y + 10, shorten(category, 20), class_="tiny"))
        x += width
    return picture(WIDTH, y + 20, "Shares of time after each keep", *parts)


def _fits(words: str, width: float) -> bool:
    return len(words) * _CHARACTER + 10.0 <= width


def category_colours(story: Story) -> dict[str, int]:
    """Return a number for every category, the largest of the baseline first."""
    found: dict[str, float] = {}
    for node in story.path():
        for share in node.profile.shares if node.profile is not None else ():
            found.setdefault(share.category, share.share_ratio)
    return {
        name: number
        for number, name in enumerate(sorted(found, key=lambda category: -found[category]))
    }


def time_chart(result: Result) -> Markup | None:
    """Return where the campaign's own time went."""
    spent = sorted(
        ((name, s) for name, s in result.seconds_by_purpose.items() if s > 0 or name == "own"),
        key=lambda item: -item[1],
    )
    if not spent or result.wall_s <= 0:
        return None
    longest = max(seconds for _, seconds in spent) or 1.0
    parts = []
    y = 4.0
    for name, seconds in spent:
        width = 560.0 * seconds / longest
        kind = "step own" if name == "own" else "step"
        parts.append(label(180, y + 15, PURPOSES.get(name, shorten(name, 24)), class_="end small"))
        parts.append(rectangle(192, y + 2, max(1.5, width), 18, rx=3, class_=kind))
        text = f"{duration(seconds)}  {seconds / result.wall_s:.1%}"
        parts.append(label(200 + width, y + 15, text, class_="tiny"))
        y += 26.0
    return picture(WIDTH, y + 4, "Where the campaign's time went", *parts)
