"""What a landscape is made from: a surface, its noise and its clock."""

from collections.abc import Mapping

from pydantic import Field

from arbor.events.types import Scalar, Value
from arbor.targets.landscape_samples import RandomShape, default_surface, random_surface
from arbor.targets.landscape_surface import Surface


class Noise(Value):
    """What stands between the truth and a measured window; all in log throughput."""

    window_sd: float = Field(default=0.015, ge=0)
    start_sd: float = Field(default=0.0, ge=0)
    """Bias that all windows of one server start share."""
    drift: float = Field(default=0.0, ge=0)
    """Amplitude of a slow swing of the machine, which all servers share."""
    drift_period_s: float = Field(default=120.0, gt=0)
    outlier_ratio: float = Field(default=0.0, ge=0, le=1)
    """Share of windows that foreign work slows down."""
    outlier_log_loss: float = Field(default=0.4, ge=0)
    outlier_foreign_cpu_ratio: float = Field(default=0.5, ge=0, le=1)
    """What such a window reports; 0 hides the foreign work."""


class LandscapeConfig(Value):
    """A surface, its noise and its clock."""

    surface: Surface | RandomShape = Field(default_factory=default_surface)
    noise: Noise = Noise()
    seed: int = 0
    throughput_tok_s: float = Field(default=400.0, gt=0)
    """Throughput of the baseline."""
    window_s: float = Field(default=1.2, gt=0)
    """Length of a window of ``default_num_requests`` on the baseline."""
    start_s: float = Field(default=2.0, ge=0)
    """Length of a server's start."""
    time_scale: float = Field(default=0.002, ge=0)
    """Real seconds that pass for one second of the landscape; 0 never sleeps."""
    num_devices: int = Field(default=0, ge=0)
    """Accelerators that a server wants to see in its mask; it uses none."""
    prior_quality: float = Field(default=0.7, ge=0, le=1)
    """1: priors not declared are true; 0: they say nothing about the truth."""

    def resolved_surface(self) -> Surface:
        """Return the surface, drawn if only its shape is declared."""
        if isinstance(self.surface, RandomShape):
            return random_surface(self.surface)
        return self.surface

    def true_ratio(self, config: Mapping[str, Scalar]) -> float:
        """Return the throughput of a configuration over the baseline's, without noise."""
        return self.resolved_surface().true_ratio(config)


def random_landscape(seed: int, num_switches: int, noise: Noise | None = None) -> LandscapeConfig:
    """Return a random surface of realistic shape, frozen into its configuration."""
    shape = RandomShape(seed=seed, num_switches=num_switches)
    return LandscapeConfig(surface=random_surface(shape), noise=noise or Noise(), seed=seed)
