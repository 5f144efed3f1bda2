"""The catalog's actions for one served model on one machine, and why others are left out."""

from collections.abc import Collection, Mapping, Sequence

from arbor.events.errors import InvalidInputError
from arbor.events.types import ActionTemplate, Hardware, Scalar
from arbor.targets.vllm.arguments import OWN_OPTIONS
from arbor.targets.vllm.catalog import applicable, load_catalog
from arbor.targets.vllm.config import VllmTargetConfig
from arbor.targets.vllm.entry import ModelFacts, release
from arbor.targets.vllm.installation import Installation


def vllm_actions(
    config: VllmTargetConfig,
    hardware: Hardware,
    facts: ModelFacts,
    installation: Installation,
    baseline: Mapping[str, Scalar],
) -> Sequence[ActionTemplate]:
    """Return what can be tried: known to this vLLM, for this machine and model, and a change.

    Args:
        config: names the entries, scales their costs.
        hardware: the machine.
        facts: what is served.
        installation: the vLLM that is started.
        baseline: configuration of the baseline.

    Raises:
        InvalidInputError: the configuration names an entry that is not in the catalog.
    """
    catalog = load_catalog()
    unknown = sorted(set(config.actions) - {entry.id for entry in catalog.entries})
    if unknown:
        raise InvalidInputError(
            f"actions names {unknown[0]!r}, which the catalog has not; "
            "`arbor catalog list` has all"
        )
    architecture = hardware.devices[0].architecture if hardware.devices else ""
    version = installation.version if _is_release(installation.version) else ""
    found = applicable(catalog, hardware, facts, version, architecture)
    return tuple(
        _adapted(action, config)
        for action in found
        if (not config.actions or action.template_id in config.actions)
        and _is_known(action, installation)
        and _changes_something(action, baseline)
    )


def _adapted(action: ActionTemplate, config: VllmTargetConfig) -> ActionTemplate:
    """Scale the cost; who cannot compare tokens of batches cannot hold anyone to exactness."""
    return action.model_copy(
        update={
            "cost_s": action.cost_s * config.cost_ratio,
            "is_exact": action.is_exact and config.is_batch_invariant,
        }
    )


def _is_release(version: str) -> bool:
    try:
        release(version)
    except ValueError:
        return False
    return True


def _is_known(action: ActionTemplate, installation: Installation) -> bool:
    return all(_is_key_known(key, installation) for key in _keys(action))


def _is_key_known(key: str, installation: Installation) -> bool:
    section, _, rest = key.partition(".")
    if section == "args":
        name = rest.partition(".")[0]
        return name == "model" or (name in installation.options and name not in OWN_OPTIONS)
    variables = installation.variables
    return variables is None or not rest.startswith("VLLM_") or rest in variables


def _keys(action: ActionTemplate) -> Collection[str]:
    return [*(e.key for e in action.edits), *(p.key for p in action.space)]


def _changes_something(action: ActionTemplate, baseline: Mapping[str, Scalar]) -> bool:
    if action.space:
        return True
    return any(baseline.get(edit.key) != edit.value for edit in action.edits)
