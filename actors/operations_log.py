"""What actors say about their own running: JSON lines, one file an actor; never the truth."""

from pathlib import Path
from typing import TextIO, cast

import structlog

from arbor.actors.tolerant_file import TolerantFile
from arbor.core.layout import CampaignDirectory


def operations_log(directory: Path, actor: str) -> structlog.typing.FilteringBoundLogger:
    """Return a logger that appends to ``DIR/logs/<actor>.jsonl``.

    Events in the log of events are what counts; these lines are for whoever debugs a process.
    """
    file = TolerantFile(CampaignDirectory(directory).logs / f"{actor}.jsonl")
    logger = structlog.wrap_logger(
        structlog.WriteLogger(cast("TextIO", file)),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(20),
        actor=actor,
    )
    return cast("structlog.typing.FilteringBoundLogger", logger)
