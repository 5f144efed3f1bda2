"""Profiles from the files of profilers: torch's Chrome traces and rocprofv3's tables."""

from arbor.targets.profiles.rocprof import profile_of_rocprof
from arbor.targets.profiles.torch_trace import profile_of_trace

__all__ = ["profile_of_rocprof", "profile_of_trace"]
