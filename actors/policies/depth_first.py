"""The default: from the deepest keep, by score; nothing that was kept is left again."""

from arbor.actors.policies.base import OnePath


class DepthFirst(OnePath):
    """Depth first. Actions commute mostly, so that a keep is rarely in the way of a better one."""
