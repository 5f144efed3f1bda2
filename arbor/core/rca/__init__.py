"""Root causes: from what a broken attempt left behind to its cause, its fault and its remedy.

One entry of ``rules`` is one class of errors; ``diagnose`` asks them in order of specificity.
"""

from arbor.core.rca.base import Diagnosis, Incident, Precedent
from arbor.core.rca.diagnosis import diagnose, unknown

__all__ = ["Diagnosis", "Incident", "Precedent", "diagnose", "unknown"]
