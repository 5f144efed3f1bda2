"""A declared surface with one of everything, and short forms to change it."""

import yaml

from arbor.events.types import Edit
from arbor.targets.landscape_config import LandscapeConfig

SURFACE = """
categories:
  - {category: attention, share_ratio: 0.4}
  - {category: sampler, share_ratio: 0.6}
switches:
  - {name: fast, key: a.fast, category: sampler, log_gain: 1.0}
  - {name: opener, key: a.opener}
  - {name: locked, key: a.locked, log_gain: 0.5, locked_log_gain: -0.1, unlocked_by: [opener]}
  - {name: needy, key: a.needy, log_gain: 0.1, needs: [opener]}
  - {name: dead, key: a.dead, value: 2, baseline: 1, log_gain: 5.0, is_dead: true}
  - {name: lossy, key: b.lossy, value: int8, baseline: float32, kl: 0.0016}
  - {name: liar, key: b.liar, kl: 0.5, claims_exact: true}
numbers:
  - {name: size, key: b.size, low: 1, high: 64, baseline: 4, optimum: 16, curvature: 0.2}
interactions:
  - {first: fast, second: locked, log_gain: -0.2}
crashes:
  - all_of: [fast, lossy]
    phase: benchmark
    message: 'ValueError: lossy is not supported when fast is on'
    exit_code: 1
  - {all_of: [liar], none_of: [fast], phase: accuracy, log: [assertion failed]}
  - {above: {size: 32}, phase: profile}
"""


def declared(**options: object) -> LandscapeConfig:
    """Return the surface without sleep, with options of its configuration."""
    text = {"surface": yaml.safe_load(SURFACE), "time_scale": 0.0, **options}
    return LandscapeConfig.model_validate(text)


def edits(**values: bool | float | str) -> tuple[Edit, ...]:
    """Return edits from ``section__key=value``."""
    return tuple(Edit(key=key.replace("__", "."), value=value) for key, value in values.items())


def ratio(**values: bool | float | str) -> float:
    """Return the true ratio of the baseline with ``section__key=value`` changed."""
    config = declared()
    baseline = config.resolved_surface().baseline()
    return config.true_ratio(baseline | {edit.key: edit.value for edit in edits(**values)})
