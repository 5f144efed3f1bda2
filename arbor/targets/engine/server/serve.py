"""Starts the engine and its HTTP front, and ends both on SIGTERM."""

import asyncio
import errno
import signal
import socket
from pathlib import Path

import torch
from aiohttp import web

from arbor.targets.engine.server.dispatch import (
    apply_after_load,
    apply_before_load,
    place_threads,
)
from arbor.targets.engine.server.engine import Engine
from arbor.targets.engine.server.errors import EXIT_CRASHED, PortBusyError
from arbor.targets.engine.server.http_api import Api
from arbor.targets.engine.server.scoring import ScoreRequest, score
from arbor.targets.engine.server.settings import Settings
from arbor.targets.engine.server.witness import Witness

_BACKLOG = 256
_GRACE_S = 1.0


def serve(settings: Settings, model: Path, host: str, port: int) -> int:
    """Serve until SIGTERM or SIGINT, or until the engine crashes.

    Returns:
        The exit code.

    Raises:
        StartError: The port is busy, the model unusable or the compiler missing.
    """
    with _listen(host, port) as listener:
        engine = build_engine(settings, model)
        return asyncio.run(_serve(engine, model.resolve().name, listener))


def build_engine(settings: Settings, model: Path) -> Engine:
    """Apply the switches, load the model and run one short pass.

    The short pass builds what is built lazily, and lets switches that do not fit together crash
    before the server says that it is ready.
    """
    torch.set_float32_matmul_precision(settings.compiler.matmul_precision)
    applied = Witness()
    applied.count(f"matmul_precision.{torch.get_float32_matmul_precision()}")
    apply_before_load(settings.dispatch, applied)
    engine = Engine(model, settings)
    tokens = tuple(range(1, 9))
    score(engine, ScoreRequest(sequences=(tokens, tokens), num_decode=2, batch=2))
    engine.prefix_cache.clear()
    apply_after_load(settings.dispatch, applied)
    # The short pass must not pass for served requests.
    engine.witness.counts.clear()
    engine.witness.counts.update(applied.counts)
    return engine


def _listen(host: str, port: int) -> socket.socket:
    """Take the port before the slow start, so that a busy one is told at once."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        if error.errno in {errno.EADDRINUSE, errno.EACCES, errno.EADDRNOTAVAIL}:
            raise PortBusyError(f"{host}:{port} cannot be used: {error.strerror}") from error
        raise
    return listener


async def _serve(engine: Engine, model_name: str, listener: socket.socket) -> int:
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    api = Api(engine, model_name)
    runner = web.AppRunner(api.application(), access_log=None, shutdown_timeout=_GRACE_S)
    await runner.setup()
    await web.SockSite(runner, listener, backlog=_BACKLOG).start()
    api.thread.start()
    place_threads(engine.settings.dispatch, api.thread.native_id, engine.witness)
    api.crashed.add_done_callback(lambda _crashed: stopping.set())
    await stopping.wait()
    await asyncio.to_thread(api.thread.stop)
    await runner.cleanup()
    return EXIT_CRASHED if api.crashed.done() else 0
