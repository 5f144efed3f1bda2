"""A program that appends from four threads until it is killed, and prints acknowledged ids."""

import os
import sys
import threading
from pathlib import Path

from arbor.events.base import Draft
from arbor.events.choice import ActionProposed
from arbor.events.ids import uuid7
from arbor.events.ledger import utc_now
from arbor.events.parquet_log import ParquetLog


def main() -> None:
    """Append for ever; every batch is sent twice, as a restarted actor would."""
    log = ParquetLog.open(Path(sys.argv[1]), "c1", compact_after=16, grace_s=0)

    def work(thread: int) -> None:
        while True:
            event = ActionProposed(
                action_id=f"a{thread}", template_id="t", node_id="n", reason="load" * thread
            )
            batch = [Draft(event, uuid7(utc_now()), f"actor{thread}") for _ in range(thread + 1)]
            if log.append(batch) != log.append(batch):
                os._exit(0)
            os.write(1, (" ".join(each.event_id for each in batch) + "\n").encode())

    for thread in range(4):
        threading.Thread(target=work, args=(thread,)).start()


if __name__ == "__main__":
    main()
