"""Notable changes of a campaign as plain lines, for logs and pipes."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from arbor.cli.text import edits, interval, one_line
from arbor.core.approval import awaits_approval
from arbor.core.requests import Request
from arbor.core.state import CampaignState
from arbor.core.tree import ROOT_ID, Action, Node, Status
from arbor.events.evidence import BenchmarkMeasured
from arbor.replay.wording import percent

_CONCLUSIONS = ("judged:", "paused:", "ended:")
"""Keys of lines that say how a campaign stands."""


@dataclass(slots=True)
class Notable:
    """Compares states and tells what happened in between, every thing once."""

    _seen: set[str] = field(default_factory=set)
    _has_begun: bool = False

    def lines(self, state: CampaignState) -> list[str]:
        """Return what is new since the last call."""
        if state.started is None:
            return []
        found = [(key, text) for key, text in self._all(state) if self._is_new(key)]
        if self._has_begun:
            return [text for _, text in found]
        self._has_begun = True
        # Of a campaign that is taken up again only how it stands, not all that happened.
        is_new = len(state.tree.nodes) <= 1
        shown = [text for key, text in found if is_new or key.startswith(_CONCLUSIONS)]
        return [*self._first(state), *shown]

    def _is_new(self, key: str) -> bool:
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new

    def _first(self, state: CampaignState) -> list[str]:
        started = state.started
        if started is None:
            return []
        hardware = started.hardware
        lines = [
            (
                f"started  {one_line(started.name)}: target {one_line(started.target)} on"
                f" {one_line(hardware.device_name)} ({hardware.num_cores} cores),"
                f" budget {state.budget.wall_s:.0f} s, score {started.settings.search.score},"
                f" {len(started.actions)} actions"
            )
        ]
        if len(state.tree.nodes) > 1:
            gain = state.tree.gain_ratio(state.tree.current_id)
            lines.append(
                f"resumed  at position {state.position}: {len(state.tree.nodes) - 1} nodes,"
                f" {gain:.3f}x so far"
            )
        return lines

    def _all(self, state: CampaignState) -> Iterator[tuple[str, str]]:
        for request in state.requests.by_id.values():
            yield from self._of_request(request)
        if state.noise is not None:
            noise = state.noise
            yield (
                "noise",
                (
                    f"noise    identical arms differ by {noise.effect.sd_log_ratio:.2%} a pair;"
                    f" smallest effect found {percent(noise.mde_ratio)}"
                ),
            )
        for node in state.tree.nodes.values():
            if node.node_id != ROOT_ID:
                yield from self._of_node(state, node)
        for action in state.tree.actions.values():
            yield from self._of_action(state, action)
        yield from self._causes(state)
        for constraint in state.constraints.in_force.values():
            what = one_line(constraint.scope.template_id)
            yield (
                f"constraint:{constraint.constraint_id}",
                (f"limit    {constraint.constraint_id} on {what}: {one_line(constraint.reason)}"),
            )
        if state.is_paused:
            yield f"paused:{state.paused_position}", "paused   nothing new is dispatched"
        if state.is_ended:
            yield f"ended:{state.session_position}", "ended    the campaign is over"

    @staticmethod
    def _causes(state: CampaignState) -> Iterator[tuple[str, str]]:
        for number, record in enumerate(state.crashes):
            if record.root_cause is not None:
                cause = record.root_cause
                yield (
                    f"cause:{number}",
                    (
                        f"cause    {cause.action_id or 'environment'}: {one_line(cause.cause)}"
                        f" ({cause.cause_group}, {cause.fault}); {one_line(cause.remedy)}"
                    ),
                )

    @staticmethod
    def _of_action(state: CampaignState, action: Action) -> Iterator[tuple[str, str]]:
        name = f"{action.action_id} {one_line(action.template_id)}"
        if action.source != "orchestrator":
            yield f"proposed:{action.action_id}", f"proposed {name}: {one_line(action.reason)}"
        if action.is_candidate and awaits_approval(state, action):
            yield f"waits:{action.action_id}", f"waits    {name}: for `arbor approve`"
        approver = state.constraints.approved.get(action.action_id)
        if approver is not None:
            yield f"approved:{action.action_id}", f"approved {name}: by {one_line(approver)}"

    def _of_request(self, request: Request) -> Iterator[tuple[str, str]]:
        request_id = request.asked.request_id
        if request.asked.purpose == "soak" and request.judgement is not None:
            verb = "stands" if request.judgement.is_accepted else "does not stand"
            yield f"judged:{request_id}", f"soak     {verb}: {one_line(request.judgement.reason)}"
        if request.asked.purpose != "revalidation":
            return
        yield (
            f"asked:{request_id}",
            f"final    {request.asked.node_id} against the frozen baseline, fresh servers",
        )
        if isinstance(request.result, BenchmarkMeasured) and request.judgement is not None:
            verdict = "holds" if request.judgement.is_accepted else "does not hold"
            yield (
                f"judged:{request_id}",
                f"claim    {verdict}: {one_line(request.judgement.reason)}",
            )

    @staticmethod
    def _change(state: CampaignState, node: Node) -> str:
        template = state.tree.templates.get(node.template_id or "")
        if node.edits or template is None:
            return edits(node.edits)
        if template.patch is not None:
            return "a patch of " + one_line(", ".join(template.patch.files))
        return "search of " + one_line(", ".join(each.key for each in template.space))

    def _of_node(self, state: CampaignState, node: Node) -> Iterator[tuple[str, str]]:
        action = state.tree.actions.get(node.action_id or "")
        dispatches = action.num_dispatches if action is not None else 0
        name = f"{node.node_id} {one_line(node.template_id or '')}"
        key = f"{node.node_id}:{dispatches}"
        if node.status is Status.REBASED:
            return
        yield (
            f"begun:{node.action_id}:{dispatches}",
            f"trying   {name}: {self._change(state, node)}",
        )
        if node.status is Status.KEPT and node.effect is not None:
            yield (
                f"kept:{key}",
                f"kept     {name}: {percent(node.effect.ratio)}, {interval(node.effect)}",
            )
        elif node.status is Status.CRASHED:
            yield f"crashed:{key}", f"crashed  {name}: {one_line(node.reason)}"
        elif node.status in {
            Status.REVERTED,
            Status.WITHDRAWN,
            Status.VETOED,
            Status.REFUSED,
            Status.REVOKED,
        }:
            word = f"{node.status}".ljust(8)
            yield f"{node.status}:{key}", f"{word} {name}: {one_line(node.reason)}"
