"""The engine: one step prefills what was admitted and decodes what runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from arbor.targets.engine.server.architecture import Architecture, read_architecture
from arbor.targets.engine.server.batch import Batch
from arbor.targets.engine.server.checkpoint import read_weights
from arbor.targets.engine.server.decoder import Decoder
from arbor.targets.engine.server.prefix_cache import BLOCK_TOKENS, PrefixCache
from arbor.targets.engine.server.sampler import make_sampler
from arbor.targets.engine.server.scheduler import Scheduler
from arbor.targets.engine.server.sequence import Sequence, TokenSink
from arbor.targets.engine.server.settings import Settings
from arbor.targets.engine.server.speculation import PromptLookup
from arbor.targets.engine.server.witness import Witness

if TYPE_CHECKING:
    from collections.abc import Callable

_LIMITS = ("max_num_seqs", "max_num_batched_tokens", "kv_capacity_tokens")

# What one step hands out: where to, the new tokens, and the reason if it was the last step.
Delivery = tuple[TokenSink, list[int], str | None]


class Engine:
    """A model, a scheduler and a sampler; used by one thread.

    Args:
        folder: Hugging Face Llama-style model folder.
        settings: The switches.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.settings = settings
        self.witness = Witness()
        self.architecture: Architecture = read_architecture(folder)
        weights = read_weights(folder, self.architecture)
        application = settings.application
        with torch.no_grad():
            self.decoder = Decoder(self.architecture, weights, settings, self.witness)
        self.scheduler = Scheduler(application)
        self.sample = make_sampler(application.sampler, self.witness)
        is_speculative = application.speculation == "prompt_lookup"
        self.lookup = PromptLookup(application, self.witness) if is_speculative else None
        self.prefix_cache = PrefixCache(self.decoder.cache)
        self.num_generated_tokens = 0
        self.num_prompt_tokens = 0
        self.num_steps = 0
        # Most that was asked of a limit since the last reset, by the limit's switch.
        self.peaks = dict.fromkeys(_LIMITS, 0)
        is_inference = settings.framework.grad_mode == "inference_mode"
        self.grad_mode: Callable[[], Any] = torch.inference_mode if is_inference else torch.no_grad
        self._grad_name = f"grad_mode.{settings.framework.grad_mode}"

    def step(self) -> list[Delivery]:
        """Prefill the sequences that get a slot, decode the others, hand out what is due."""
        self.num_steps += 1
        self.witness.count(self._grad_name)
        with self.grad_mode():
            self._drop_cancelled()
            for sequence in self.scheduler.preempt():
                self.decoder.cache.release(sequence.slot)
            decoding = list(self.scheduler.running)
            admitted = self.scheduler.admit()
            deliveries: list[Delivery] = []
            running = self.scheduler.running
            self._note_peak("max_num_seqs", len(running))
            self._note_peak("kv_capacity_tokens", sum(len(s.tokens) for s in running))
            if admitted:
                self.witness.count(f"admission.{self.settings.application.admission}")
                tokens = self.sample(admitted, self.prefill(admitted))
                self._hand_out(admitted, [[token] for token in tokens], deliveries)
            if decoding:
                self._hand_out(decoding, self._next(decoding), deliveries)
        return deliveries

    def prefill(self, sequences: list[Sequence]) -> Tensor:
        """Compute the sequences' uncached tokens; gives next-token logits [sequences, vocab]."""
        reuse = self.settings.application.prefix_reuse
        logits: dict[int, Tensor] = {}
        for group in self._prefill_groups(sequences):
            if reuse:
                for sequence in group:
                    restored = self.prefix_cache.restore(sequence.slot, sequence.tokens)
                    sequence.num_cached = restored
                    if restored:
                        self.witness.count("prefix_cache.restored")
            batch = self._uncached(group)
            self._note_peak("max_num_batched_tokens", len(batch.tokens))
            rows = self._prompt_logits(batch)
            for sequence, row in zip(group, rows, strict=True):
                logits[sequence.slot] = row
                self.num_prompt_tokens += len(sequence.tokens) - sequence.num_cached
                sequence.num_cached = len(sequence.tokens)
                if reuse:
                    self.prefix_cache.store(sequence.slot, sequence.tokens)
        return torch.stack([logits[sequence.slot] for sequence in sequences])

    def prefill_all_logits(
        self, sequences: list[Sequence], num_last: int | None = None
    ) -> list[Tensor]:
        """Prefill without prefix reuse; gives logits [positions, vocab] of all or the last."""
        packed = self.settings.framework.prefill_packing
        logits: list[Tensor] = []
        for group in [sequences] if packed else [[sequence] for sequence in sequences]:
            batch = self._uncached(group)
            hidden = self.decoder.forward(batch)
            counts = [min(num_last or part.length, part.length) for part in batch.segments]
            ends = [part.row + part.length for part in batch.segments]
            kept = [hidden[e - count : e] for e, count in zip(ends, counts, strict=True)]
            logits.extend(torch.split(self.decoder.head(torch.cat(kept)), counts))
            for sequence in group:
                sequence.num_cached = len(sequence.tokens)
        return logits

    def decode(self, sequences: list[Sequence]) -> Tensor:
        """Compute each sequence's last token; gives next-token logits [sequences, vocab]."""
        parts = [(s.slot, s.num_cached, s.tokens[s.num_cached :]) for s in sequences]
        if self.settings.application.decode_batching:
            self.witness.count("decode.batched")
            logits = self.decoder.head(self.decoder.forward(Batch(parts)))
        else:
            self.witness.count("decode.single")
            rows = [self.decoder.head(self.decoder.forward(Batch([part]))) for part in parts]
            logits = torch.cat(rows)
        for sequence in sequences:
            sequence.num_cached = len(sequence.tokens)
        return logits

    def check(self, sequences: list[Sequence], drafts: list[list[int]]) -> Tensor:
        """Compute last tokens and drafts; gives next-token logits of all their rows in order."""
        parts = [
            (s.slot, s.num_cached, s.tokens[s.num_cached :] + draft)
            for s, draft in zip(sequences, drafts, strict=True)
        ]
        is_batched = self.settings.application.decode_batching
        batches = [parts] if is_batched else [[part] for part in parts]
        self.witness.count("decode.checked")
        rows = [self.decoder.head(self.decoder.forward(Batch(b, is_step=True))) for b in batches]
        return torch.cat(rows)

    def finish(self, sequence: Sequence) -> None:
        """Free the slot and the cache of a running sequence."""
        self.scheduler.release(sequence)
        self.decoder.cache.release(sequence.slot)

    def reset(self) -> None:
        """Forget prefixes and peaks; totals stay."""
        self.prefix_cache.clear()
        self.peaks = dict.fromkeys(_LIMITS, 0)

    def _note_peak(self, limit: str, amount: int) -> None:
        self.peaks[limit] = max(self.peaks[limit], amount)

    def _uncached(self, group: list[Sequence]) -> Batch:
        return Batch([(s.slot, s.num_cached, s.tokens[s.num_cached :]) for s in group])

    def _prompt_logits(self, batch: Batch) -> Tensor:
        hidden = self.decoder.forward(batch)
        kind = self.settings.framework.prefill_logits
        self.witness.count(f"prefill_logits.{kind}")
        if kind == "last":
            return self.decoder.head(hidden[batch.last_rows()])
        return self.decoder.head(hidden)[batch.last_rows()]

    def _prefill_groups(self, sequences: list[Sequence]) -> list[list[Sequence]]:
        """Sequences by pass; those that can reuse the prefix of another one come after it."""
        application = self.settings.application
        groups: list[list[Sequence]] = []
        if not self.settings.framework.prefill_packing:
            return [[sequence] for sequence in sequences]
        self.witness.count("prefill.packed")
        first: list[Sequence] = []
        second: list[Sequence] = []
        leading: set[tuple[int, ...]] = set()
        for sequence in sequences:
            beginning = tuple(sequence.tokens[:BLOCK_TOKENS])
            waits = application.prefix_reuse and beginning in leading
            (second if waits else first).append(sequence)
            if not self.prefix_cache.is_known(sequence.tokens):
                leading.add(beginning)
        for wave in (first, second):
            num_tokens = application.max_num_batched_tokens + 1
            for sequence in wave:
                num_tokens += len(sequence.tokens)
                if num_tokens > application.max_num_batched_tokens:
                    groups.append([])
                    num_tokens = len(sequence.tokens)
                groups[-1].append(sequence)
        return groups

    def _next(self, sequences: list[Sequence]) -> list[list[int]]:
        """The next token of each sequence, or the next ones where a draft came true."""
        drafts = [self.lookup.draft(s) for s in sequences] if self.lookup else []
        if self.lookup is None or not any(drafts):
            return [[token] for token in self.sample(sequences, self.decode(sequences))]
        logits = self.check(sequences, drafts)
        branches = [
            self.lookup.branches(sequence, draft)
            for sequence, draft in zip(sequences, drafts, strict=True)
        ]
        tokens = iter(self.sample([b for group in branches for b in group], logits))
        chosen = []
        for sequence, draft, group in zip(sequences, drafts, branches, strict=True):
            accepted = self.lookup.accept(draft, [next(tokens) for _ in group])
            # the last chosen token was not an input, what was not accepted was a wrong one
            sequence.num_cached = len(sequence.tokens) + len(accepted) - 1
            self.decoder.cache.truncate(sequence.slot, sequence.num_cached)
            chosen.append(accepted)
        return chosen

    def _hand_out(
        self, sequences: list[Sequence], chosen: list[list[int]], deliveries: list[Delivery]
    ) -> None:
        interval = self.settings.application.stream_interval
        for sequence, tokens in zip(sequences, chosen, strict=True):
            reason = None
            for token in tokens:
                sequence.tokens.append(token)
                sequence.pending.append(token)
                self.num_generated_tokens += 1
                reason = sequence.finish_reason()
                if reason:
                    break
            # The first token goes out at once, so that time to first token stays honest.
            if reason or sequence.num_generated == 1 or len(sequence.pending) >= interval:
                if len(sequence.pending) > 1:
                    self.witness.count("delivery.gathered")
                deliveries.append((sequence.sink, sequence.pending, reason))
                sequence.pending = []
            if reason:
                self.finish(sequence)

    def _drop_cancelled(self) -> None:
        for sequence in [s for s in self.scheduler.running if s.is_cancelled]:
            self.finish(sequence)
        waiting = self.scheduler.waiting
        if any(sequence.is_cancelled for sequence in waiting):
            kept = [sequence for sequence in waiting if not sequence.is_cancelled]
            waiting.clear()
            waiting.extend(kept)
