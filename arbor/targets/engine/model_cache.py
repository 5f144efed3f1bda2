"""The model that an engine target serves: a given folder, or a synthetic one made once."""

import fcntl
import hashlib
import os
from contextlib import suppress
from pathlib import Path

from pydantic import Field

from arbor.events.errors import InvalidInputError
from arbor.events.types import Value
from arbor.targets.engine.model_folder import ModelSize, create_synthetic_model


class SyntheticModel(Value):
    """Seed and sizes of a model that is made on the spot; the default has 13 M parameters."""

    seed: int = 0
    vocab_size: int = Field(default=16_384, ge=64)
    width: int = Field(default=256, ge=16)
    num_layers: int = Field(default=6, ge=1)
    num_heads: int = Field(default=4, ge=1)
    num_kv_heads: int = Field(default=2, ge=1)
    ffn_width: int = Field(default=704, ge=16)
    max_positions: int = Field(default=1024, ge=64)


def cache_folder(configured: Path | None) -> Path:
    """Return where Arbor keeps what can be made again: as configured, ARBOR_CACHE, or the home."""
    if configured is not None:
        return configured
    named = os.environ.get("ARBOR_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "arbor"


def synthetic_model(model: SyntheticModel, cache: Path) -> Path:
    """Return the folder of a synthetic model, made now if it is not there yet.

    Raises:
        InvalidInputError: the cache folder cannot be written.
    """
    sizes = model.model_dump(exclude={"seed"})
    digest = hashlib.sha256(repr((model.seed, sorted(sizes.items()))).encode()).hexdigest()[:12]
    path = cache / "models" / f"synthetic-{digest}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # several workers start at once: one builds, the others wait
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return create_synthetic_model(path, model.seed, ModelSize(**sizes))
    except OSError as error:
        raise InvalidInputError(
            f"cannot make a model in {path}: {error}; set ARBOR_CACHE to a folder of yours"
        ) from error


def import_root(cache: Path) -> Path:
    """Return a folder that holds a link to the ``arbor`` package and nothing else.

    A server must not see what stands beside the package: top-level folders of a checkout would
    shadow public packages of the same name.
    """
    package = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256(str(package).encode()).hexdigest()[:12]
    root = cache / "import_roots" / digest
    root.mkdir(parents=True, exist_ok=True)
    link = root / package.name
    if not link.exists():
        # another process may be faster
        link.unlink(missing_ok=True)
        with suppress(FileExistsError):
            link.symlink_to(package, target_is_directory=True)
    return root
