"""How actors are named."""


def specialist_name(node_id: str) -> str:
    """Return the actor name of the specialist of a node."""
    return f"specialist-{node_id}"
