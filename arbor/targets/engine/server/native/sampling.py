"""The sampler in C++: greedy choices and top-k draws; rows that keep all tokens go to PyTorch."""

import ctypes
from collections.abc import Callable

import torch
from torch import Tensor

from arbor.targets.engine.server.native.build import declare, load_library
from arbor.targets.engine.server.sequence import SamplingParameters, Sequence
from arbor.targets.engine.server.witness import Witness

_SIGNATURES = {"penalise": "ppnfp", "choose": "pnnppppppp"}
# More candidates than this are sorted faster by PyTorch.
_MAX_TOP_K = 1024
# A float and an integer of 64 bits, aligned.
_CANDIDATE_BYTES = 16


class NativeSampler:
    """All rows in one call.

    Args:
        fallback: chooses when a sequence draws from all tokens.
        witness: counts the calls.
    """

    def __init__(
        self, fallback: Callable[[list[Sequence], Tensor], list[int]], witness: Witness
    ) -> None:
        self._library = declare(load_library("sampling"), _SIGNATURES)
        self._witness = witness
        self._fallback = fallback
        self._candidates = ctypes.create_string_buffer(_MAX_TOP_K * _CANDIDATE_BYTES)
        self._probabilities = torch.empty(_MAX_TOP_K)

    def __call__(self, sequences: list[Sequence], logits: Tensor) -> list[int]:
        """One token for each sequence."""
        if not all(_is_native(s.parameters, logits.shape[1]) for s in sequences):
            return self._fallback(sequences, logits)
        self._witness.count("sampler.native")
        logits = logits.contiguous()
        for row, sequence in enumerate(sequences):
            if sequence.parameters.repetition_penalty != 1.0:
                self._penalise(sequence, logits[row])
        parameters = [sequence.parameters for sequence in sequences]
        temperature = torch.tensor([p.temperature for p in parameters])
        top_k = torch.tensor([p.top_k for p in parameters])
        top_p = torch.tensor([p.top_p for p in parameters])
        uniform = torch.tensor(
            [s.parameters.uniform(s.num_generated) for s in sequences], dtype=torch.float64
        )
        out = torch.empty(len(sequences), dtype=torch.long)
        self._library.choose(
            logits.data_ptr(),
            *logits.shape,
            temperature.data_ptr(),
            top_k.data_ptr(),
            top_p.data_ptr(),
            uniform.data_ptr(),
            ctypes.addressof(self._candidates),
            self._probabilities.data_ptr(),
            out.data_ptr(),
        )
        tokens: list[int] = out.tolist()
        return tokens

    def _penalise(self, sequence: Sequence, row: Tensor) -> None:
        seen = torch.tensor(sequence.tokens)
        scratch = torch.empty(len(sequence.tokens))
        self._library.penalise(
            row.data_ptr(),
            seen.data_ptr(),
            len(sequence.tokens),
            sequence.parameters.repetition_penalty,
            scratch.data_ptr(),
        )


def _is_native(parameters: SamplingParameters, vocab_size: int) -> bool:
    limit = min(_MAX_TOP_K, vocab_size)
    return parameters.temperature == 0.0 or 0 < parameters.top_k <= limit
