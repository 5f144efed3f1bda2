"""What Ray needs and must not do, set before it is imported: it reads these once, at import."""

import os
import secrets
import sys

from arbor.events.errors import ArborError


def prepare() -> None:
    """Set what a private Ray instance needs, unless a cluster is named.

    A private instance gets a token of its own in the environment, so that nobody else on the
    machine can submit to it and no token file is written.

    Raises:
        ArborError: ray was imported before, so that a token would come too late.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Workers without devices must not lose sight of what the driver gave them.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Ray's default is 15, which measured servers would inherit: any process would slow them.
    os.environ.setdefault("RAY_worker_niceness", "0")
    if "RAY_ADDRESS" in os.environ or "RAY_AUTH_MODE" in os.environ:
        return
    if "ray" in sys.modules:
        raise ArborError("ray was imported before its environment was prepared")
    os.environ["RAY_AUTH_MODE"] = "token"
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def is_cluster_named() -> bool:
    """Return whether a cluster is joined rather than a private instance started."""
    return bool(os.environ.get("RAY_ADDRESS"))
