"""The report as one self-contained HTML page: no scripts, no external assets."""

from importlib.resources import files
from string import Template

from arbor.core.scopes import lift_words, scope_words
from arbor.replay.evidence import entries
from arbor.replay.html.charts import forest_plot, step_chart
from arbor.replay.html.claim import claim
from arbor.replay.html.markup import Markup, join, tag, text
from arbor.replay.html.nodes import nodes_table
from arbor.replay.html.shares import NUM_COLOURS, shares_chart, time_chart
from arbor.replay.html.tree_picture import tree_picture
from arbor.replay.result_models import Result
from arbor.replay.story import Story
from arbor.replay.wording import (
    duration,
    headline,
    method,
    reproduce,
)


def html_report(result: Result, story: Story, directory: str) -> str:
    """Return the page.

    Args:
        result: the campaign's result.
        story: what stands behind it.
        directory: the campaign's directory, as commands should name it.
    """
    template = Template((files("arbor.replay.html") / "page.html").read_text(encoding="utf-8"))
    colours = "\n".join(f"svg .c{n} {{ fill: var(--c{n}); }}" for n in range(NUM_COLOURS))
    return template.substitute(
        title=text(f"{result.campaign.name}: {headline(result)}"),
        colours=colours,
        content=join(
            _header(result),
            claim(result, story),
            _section(
                "The search tree",
                "Green is the path in force, from the frozen baseline down; beside each node stand"
                " the actions that were tried on it and did not stay.",
                tree_picture(story),
            ),
            _steps(result, story),
            _effects(result, story),
            _shares(story),
            _nodes(result, story),
            _learned(story),
            _configuration(result, story),
            _times(result),
            _section("Method", "", tag("ul", *(tag("li", item) for item in _method(result)))),
            _reproduce(result, directory),
            _footer(result),
        ),
    )


def _section(title: str, lead: str, *content: Markup | None) -> Markup:
    shown = [tag("div", part, class_="picture") for part in content if part is not None]
    return tag(
        "section", tag("h2", title), tag("p", lead, class_="lead") if lead else None, *shown
    )


def _header(result: Result) -> Markup:
    campaign = result.campaign
    hardware = campaign.hardware
    devices = (
        f"{hardware.num_devices} {hardware.kind} accelerators"
        if hardware.num_devices
        else ("no accelerator")
    )
    return tag(
        "header",
        tag("h1", f"Arbor campaign: {campaign.name}"),
        tag(
            "p",
            f"target {campaign.target} on {hardware.device_name}, {hardware.num_cores} cores,"
            f" {hardware.memory_bytes / 2**30:.0f} GiB, {devices};"
            f" started {campaign.started_at[:16].replace('T', ' ')} UTC, seed"
            f" {campaign.settings.seed}",
            class_="where",
        ),
    )


def _steps(result: Result, story: Story) -> Markup | None:
    chart = step_chart(story, result)
    if chart is None:
        return None
    return _section(
        "Throughput over the kept nodes",
        "Blue: geometric mean of each node's own benchmark windows, taken at different times."
        " Right of the line: baseline and final stack measured side by side at the end, the only"
        " two bars that the claim rests on.",
        chart,
    )


def _effects(result: Result, story: Story) -> Markup | None:
    chart = forest_plot(story, result)
    if chart is None:
        return None
    measure = story.state.settings.measure
    return _section(
        "Every measured action",
        f"Ratio to the node that it lay on, with its {1 - measure.alpha:.0%} interval (valid at"
        f" any stopping time). A keep needs proof of a gain at the level that the control of"
        f" false discoveries allows, an estimate of at least {measure.min_gain_ratio:.2f}x, an"
        " accepted accuracy, a witness and no broken guardrail. Larger squares rest on more"
        " pairs.",
        chart,
    )


def _shares(story: Story) -> Markup | None:
    chart = shares_chart(story)
    if chart is None:
        return None
    return _section(
        "Where the stack's time goes",
        "The profile after each keep; when the bottleneck moves, what remains is scored again.",
        chart,
    )


def _nodes(result: Result, story: Story) -> Markup:
    return _section(
        "Nodes",
        "In the order of the tree, kept nodes open: raw samples, guardrails, witness, judgements"
        " and both keys with their positions in the log. In the pictures a dot is a pair, hollow"
        " when it does not count; the band is the interval, the dashed line the shrunk estimate."
        " Patches that were rebased onto a newer node appear once, where they were measured.",
        nodes_table(entries(story, result)),
    )


def _learned(story: Story) -> Markup | None:
    constraints = story.state.constraints.in_force.values()
    if not constraints:
        return None
    rows = [
        tag(
            "tr",
            tag("td", limit.constraint_id),
            tag("td", scope_words(limit.scope)),
            tag("td", lift_words(limit.lift)),
            tag("td", limit.reason),
        )
        for limit in constraints
    ]
    names = ("", "what must not be tried", "until", "because")
    head = tag("tr", *(tag("th", name) for name in names))
    return _section(
        "Constraints learned",
        "What must not be tried again, by the Critic's analysis of crashes.",
        tag("table", head, *rows, class_="plain"),
    )


def _configuration(result: Result, story: Story) -> Markup:
    before = story.state.tree.root_config
    changed = [(k, v) for k, v in result.final_config.items() if before.get(k) != v]
    if not changed:
        return _section("Final configuration", "Nothing differs from the baseline.")
    rows = [
        tag(
            "tr",
            tag("td", tag("code", key)),
            tag("td", tag("code", str(before.get(key, "")))),
            tag("td", tag("code", str(value))),
        )
        for key, value in changed
    ]
    table = tag(
        "table",
        tag("tr", tag("th", "key"), tag("th", "baseline"), tag("th", "final")),
        *rows,
        class_="plain",
    )
    return _section("Final configuration", f"Commit {result.final_commit}.", table)


def _times(result: Result) -> Markup | None:
    chart = time_chart(result)
    if chart is None:
        return None
    start = (
        f" Ray's start took {duration(result.start_s)} before that."
        if result.start_s is not None
        else ""
    )
    memory = (
        f" Arbor's own processes peaked at {result.peak_rss_bytes / 2**20:,.0f} MiB."
        if result.peak_rss_bytes is not None
        else ""
    )
    return _section(
        "Where the campaign's time went",
        f"{duration(result.wall_s)} of active time. Time under a lease is work on the stack; time"
        f" without any is Arbor's own: {result.overhead_ratio:.1%}.{start}{memory}",
        chart,
    )


def _method(result: Result) -> tuple[str, ...]:
    settings = result.campaign.settings
    return method(settings.measure, settings.search.score)


def _reproduce(result: Result, directory: str) -> Markup:
    rows = [
        tag("tr", tag("td", tag("code", command)), tag("td", words))
        for command, words in reproduce(directory)
    ]
    return _section(
        "Reproduce and check",
        f"Everything here is computed from {result.num_events} events; nothing else is stored.",
        tag("table", *rows, class_="plain"),
    )


def _footer(result: Result) -> Markup:
    return tag(
        "footer",
        f"Arbor {result.campaign.arbor_version}, campaign {result.campaign.campaign_id}. Log head"
        f" {result.num_events}:{result.log_digest} (keep it elsewhere; `arbor audit --against`"
        " proves later that the log still contains it).",
    )
