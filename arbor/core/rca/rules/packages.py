"""Packages, libraries and compilers that are missing or do not fit each other."""

from typing import Final

from arbor.core.rca.base import Rule
from arbor.core.rca.finders import any_of, raised, trouble
from arbor.core.rca.patched import in_patch

_GROUP: Final = "dependency_or_version"

RULES = (
    Rule(
        "implementation_error",
        "implementation_error",
        "",
        "implementation",
        "correct the patch's own imports",
        in_patch(r"(?:ModuleNotFound|Import)Error"),
        0.8,
    ),
    Rule(
        "version_mismatch",
        _GROUP,
        "framework",
        "environment",
        "install versions that fit each other: binaries were built against another one",
        any_of(
            trouble(
                r"undefined symbol|(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+.{0,20}not found|"
                r"version `?\S+'? not found|binary incompatib|size changed, may indicate|"
                r"compiled (?:using|with|against).{0,40}(?:cannot be run|different|incompatible)|"
                r"driver version is insufficient|driver.{0,40}(?:too old|is older)|"
                r"operator \w+::\w+ does not exist|ABI (?:mismatch|version)|"
                r"(?:ContextualVersionConflict|VersionConflict|DistributionNotFound)|"
                r"(?:requires?|needs?) .{0,60}(?:[<>=]=|version|newer|older).{0,60}"
                r"(?:found|installed|but|you have|got)\b|"
                r"is not compatible with (?:the )?(?:installed|current|this version|torch|cuda)|"
                r"(?:upgrade|update|downgrade|reinstall) .{0,40}\bversion|"
                r"built (?:for|with|against) (?:torch|cuda|rocm|python) ?[\d.]+|"
                r"not compiled with (?:CUDA|ROCm|HIP|XPU)(?: enabled)?",
                unless=r"recognize this architecture|model[ _]type",
            ),
            raised(r"ImportError", r"cannot import name"),
            raised(r"AttributeError", r"module '[\w.]+' has no attribute"),
            raised(r"TypeError", r"unexpected keyword argument", frames=r"(?:site|dist)-packages"),
        ),
        0.8,
    ),
    Rule(
        "missing_dependency",
        _GROUP,
        "framework",
        "environment",
        "install what is missing",
        any_of(
            raised(r"ModuleNotFoundError|PackageNotFoundError"),
            trouble(
                r"No module named|cannot open shared object file|"
                r"(?:compiler|nvcc|hipcc|g\+\+|gcc|ninja|cmake|cc)\b.{0,30}"
                r"(?:not found|not on PATH|is missing|which is not)|"
                r"no (?:working )?(?:C|C\+\+|CUDA) compiler|failed to find C compiler|"
                r"command not found|fatal error: \S+\.h(?:pp)?: No such file|"
                r"(?:is|are) not installed|please (?:pip )?install|"
                r"(?:could not|cannot|unable to) find.{0,30}(?:library|package|CUDA_HOME|ROCM)|"
                r"(?:CUDA_HOME|ROCM_HOME) .*not set|library \S+ not found"
            ),
            raised(r"ImportError"),
        ),
        0.8,
    ),
)
