"""Runs that ended well and were no good: wrong answers, or slower than before."""

from arbor.core.rca.base import Rule
from arbor.core.rca.comparisons import is_less_accurate, is_refuted_precision, is_slower
from arbor.core.rca.finders import all_of, any_of, anywhere, but_not, trouble

_WRONG = (
    r"^(?!.*\b(?:no (?:\w+ )?(?:drop|loss|differen|regress)|unchanged|within|gate pass)).*(?:"
    r"\bGATE[ _]?FAIL|gate (?:has )?failed|accuracy.{0,60}(?:below|under|drop|fell|fail|regress|"
    r"not greater|too low|loss|collapse|< )|(?:exact_match|gsm8k|mmlu|perplexity|ppl|"
    r"score)\b.{0,80}"
    r"(?:below|drop|fell|fail|worse|regress|< )|not greater than 0\.\d|"
    r"mismatched elements|tensor-likes are not close|allclose|max(?:imum)? (?:abs|absolute|"
    r"relative)"
    r"\w* (?:diff|err)|cosine similarity|"
    r"(?:output|token|answer|logit|result|text)s? (?:differ|diverge|mismatch|are wrong|is wrong)|"
    r"wrong (?:output|answer|result|token|sum|value)s?|garbage|gibberish|garbled|incoherent|"
    r"repeat(?:s|ed|ing)? (?:the same )?tokens?|\bKL\b.{0,40}(?:above|exceed|>))"
)
_NAN = (
    r"probability tensor contains|\bnan\b.{0,40}(?:logit|prob|loss|detect|found|output)|"
    r"(?:logit|prob|loss|output|tensor|activation|hidden)\w*.{0,40}\b(?:nan|inf)s?\b|"
    r"num_nans\w* ?[=:] ?[1-9]|contains? (?:nan|inf)|invalid value encountered"
)
_MEASURED_BADLY = (
    r"throttl|power cap|thermal|clock.{0,40}(?:drop|lower|capped)|noisy neighbou?r|foreign "
    r"(?:load|process)|other (?:tenant|process|job).{0,40}(?:using|busy|running|same)|cpu steal"
)

RULES = (
    Rule(
        "numerics_accuracy",
        "numerics",
        "framework",
        "idea",
        "leave this precision alone for this model; a milder one keeps its answers",
        all_of(
            any_of(trouble(_WRONG), trouble(_NAN), anywhere(r"\bGATE[ _]?FAIL"), is_less_accurate),
            is_refuted_precision,
        ),
        0.75,
    ),
    Rule(
        "numerics_accuracy",
        "numerics",
        "",
        "implementation",
        "find the step whose numbers differ from the reference: its scales, its kernel, its"
        " version",
        any_of(trouble(_WRONG), trouble(_NAN, unless=r"num_nans\w* ?[=:] ?0"), is_less_accurate),
        0.7,
    ),
    Rule(
        "measurement_disturbed",
        "measurement",
        "hardware",
        "environment",
        "measure again on a quiet machine with steady clocks",
        all_of(
            is_slower, but_not(anywhere(_MEASURED_BADLY), anywhere(r"no throttl|throttl\w* 0"))
        ),
        0.6,
        "retry",
    ),
    Rule(
        "perf_regression",
        "performance",
        "framework",
        "idea",
        "leave it out here: it works, and is slower",
        is_slower,
        0.8,
    ),
    Rule(
        "no_effect",
        "performance",
        "compiler",
        "implementation",
        "it did nothing here: find out why its condition never held, or leave it out",
        anywhere(
            r"(?:replaced|matched|fused|rewrote) 0 |0 (?:matches|patterns|replacements)\b|"
            r"(?:has|had) no effect|is (?:silently )?ignored|never (?:reached|called|executed)"
        ),
        0.5,
    ),
)
