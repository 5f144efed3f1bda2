"""Sinks of completion requests: server-sent events written straight to the socket, or a list."""

import asyncio
import json
import time
from typing import Any

# The transport drops a peer that stops reading; above this many unsent bytes it is one.
_MAX_UNSENT_BYTES = 4 << 20


def completion_chunk(
    completion_id: str, model: str, created: int, tokens: list[int], finish_reason: str | None
) -> dict[str, Any]:
    """An OpenAI text completion object; `token_ids` is our extension, text is the ids in words."""
    return {
        "id": completion_id,
        "object": "text_completion",
        "created": created,
        "model": model,
        "choices": [
            {
                "index": 0,
                "text": " ".join(map(str, tokens)),
                "token_ids": tokens,
                "logprobs": None,
                "finish_reason": finish_reason,
            }
        ],
    }


def usage(num_prompt: int, num_generated: int) -> dict[str, int]:
    """OpenAI's usage object."""
    return {
        "prompt_tokens": num_prompt,
        "completion_tokens": num_generated,
        "total_tokens": num_prompt + num_generated,
    }


class EndedError(Exception):
    """A request ended without its tokens: the engine crashed or the client went away."""


class CollectingSink:
    """Keeps the tokens until the request ends."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def push(self, tokens: list[int], finish_reason: str | None) -> None:
        """Collect; the future gets the finish reason."""
        self.tokens.extend(tokens)
        if finish_reason and not self.ended.done():
            self.ended.set_result(finish_reason)

    def fail(self, message: str) -> None:
        """End with an error."""
        if not self.ended.done():
            self.ended.set_exception(EndedError(message))


class StreamingSink:
    """Writes one event per delivery, framed as an HTTP chunk by hand: one write, no await.

    Args:
        transport: The connection's, headers with chunked encoding already sent.
        completion_id: Names the request in every event.
        model: Model name in every event.
        num_prompt: Prompt length for the usage at the end.
    """

    def __init__(
        self, transport: asyncio.Transport, completion_id: str, model: str, num_prompt: int
    ) -> None:
        self._transport = transport
        self._num_prompt = num_prompt
        self._num_generated = 0
        self._identity = (completion_id, model, int(time.time()))
        whole = json.dumps(completion_chunk(*self._identity, [], None))
        # Everything but the tokens is the same in every event of the request.
        before, after = whole.split('"text": "", "token_ids": []')
        self._before, self._after = f'data: {before}"text": "', after + "\n\n"
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def push(self, tokens: list[int], finish_reason: str | None) -> None:
        """Write an event; the last one carries the finish reason and is followed by the usage."""
        if self.ended.done():
            return
        if self._transport.is_closing():
            self.fail("client went away")
            return
        if self._transport.get_write_buffer_size() > _MAX_UNSENT_BYTES:
            self._transport.abort()
            self.fail("client does not read")
            return
        self._num_generated += len(tokens)
        if finish_reason is None:
            text = " ".join(map(str, tokens))
            ids = ", ".join(map(str, tokens))
            body = f'{self._before}{text}", "token_ids": [{ids}]{self._after}'
        else:
            body = self._last_events(tokens, finish_reason)
        self._transport.write(f"{len(body):x}\r\n{body}\r\n".encode("ascii"))
        if finish_reason is not None:
            self.ended.set_result(finish_reason)

    def fail(self, message: str) -> None:
        """End with an error."""
        if not self.ended.done():
            self.ended.set_exception(EndedError(message))

    def _last_events(self, tokens: list[int], finish_reason: str) -> str:
        last = completion_chunk(*self._identity, tokens, finish_reason)
        total = completion_chunk(*self._identity, [], None)
        total |= {"choices": [], "usage": usage(self._num_prompt, self._num_generated)}
        return f"data: {json.dumps(last)}\n\ndata: {json.dumps(total)}\n\ndata: [DONE]\n\n"
