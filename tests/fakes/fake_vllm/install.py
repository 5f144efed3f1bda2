"""Puts the fake where a target looks for vLLM, and a model folder beside it."""

import json
import sys
from pathlib import Path
from typing import Any

from tests.fakes.fake_vllm.model import VOCAB_SIZE

_ROOT = Path(__file__).resolve().parents[3]


def install(folder: Path) -> Path:
    """Write the program ``vllm`` into a folder's ``bin`` and return it."""
    program = folder / "bin" / "vllm"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(_ROOT)!r})\n"
        "from tests.fakes.fake_vllm.program import main\nsys.exit(main())\n"
    )
    program.chmod(0o755)
    return program


def make_model(folder: Path, **fields: Any) -> Path:
    """Write a model folder with a configuration, pretended weights and a pretended tokeniser."""
    model = folder / "model"
    model.mkdir(parents=True)
    config = {"vocab_size": VOCAB_SIZE, "max_position_embeddings": 512, **fields}
    (model / "config.json").write_text(json.dumps(config))
    (model / "model.safetensors").write_bytes(b"")
    (model / "tokenizer.json").write_text("{}")
    return model
