"""How actors are named."""

ADVISER = "adviser"
"""Asks language models for ideas and opinions; it decides nothing."""


def specialist_name(node_id: str) -> str:
    """Return the actor name of the specialist of a node."""
    return f"specialist-{node_id}"
