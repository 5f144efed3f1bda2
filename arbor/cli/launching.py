"""How a stack is started without Arbor's orchestration: one launch script a target."""

import inspect
import shlex
import sys
from collections.abc import Callable

from arbor.core.campaign import Campaign
from arbor.targets.base import Target
from arbor.targets.registry import create_target
from arbor.targets.vllm import launch
from arbor.targets.vllm.installation import Installation
from arbor.targets.vllm.installed import interpreter_of

_HEAD = """\
#!/bin/sh
# Starts the final stack of an Arbor campaign; Arbor's orchestration is not needed.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
"""


def _engine(target: Target) -> str:
    model = getattr(target, "model", None)
    default = shlex.quote(str(model)) if model is not None else "''"
    python = shlex.quote(sys.executable or "python3")
    return f"""\
python=${{PYTHON:-{python}}}
model=${{MODEL:-{default}}}
exec "$python" -m arbor.targets.engine.server \\
    --config "$here/serve.yaml" --model "$model" \\
    --host "${{HOST:-127.0.0.1}}" --port "${{PORT:-8000}}"
"""


def _vllm(target: Target) -> str:
    installation: Installation = getattr(target, "installation")  # noqa: B009 - of its class only
    interpreter = interpreter_of(installation.command) or ("python3",)
    negatives = ",".join(sorted(name for name in installation.options if name.startswith("no-")))
    return f"""\
# options and variables are in serve.yaml; arguments of this script are added to them
set -- "$here/serve.yaml" {shlex.quote(negatives)} {shlex.join(installation.command)} -- \\
    --host "${{HOST:-127.0.0.1}}" --port "${{PORT:-8000}}" "$@"
launcher=$(cat <<'END'
{inspect.getsource(launch)}
END
)
exec ${{PYTHON:-{shlex.join(interpreter)}}} -c "$launcher" "$@"
"""


def _simulated(target: Target) -> str:
    return f"""\
echo "target {target.name} is a simulation: there is no server to start" >&2
exit 1
"""


_SCRIPTS: dict[str, Callable[[Target], str]] = {
    "engine": _engine,
    "landscape": _simulated,
    "vllm": _vllm,
}
"""Target to the rest of its script; a new target is one line here."""


def launch_script(campaign: Campaign) -> str:
    """Return the content of ``launch.sh`` for a campaign's target.

    Raises:
        InvalidInputError: the target is unknown, or its options are.
    """
    target = create_target(campaign.target, campaign.target_config)
    return _HEAD + _SCRIPTS.get(campaign.target, _simulated)(target)
