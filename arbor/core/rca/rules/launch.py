"""What a program refuses before it works: arguments, values, combinations, models."""

from arbor.core.rca.base import Rule
from arbor.core.rca.finders import all_of, any_of, anywhere, but_not, raised, trouble

_REFUSES_FOR_GOOD = (
    r"(?:cannot|can't|can not|must not|may not) be (?:used|combined|enabled|set|quantised|"
    r"quantized|"
    r"mixed)\b.{0,40}(?:with|together|twice|both|at the same time|for this model|when)|"
    r"mutually exclusive|(?:unsupported|invalid|illegal) combination|do not (?:work|fit) together|"
    r"(?:is|are) (?:not compatible|incompatible) with|incompatible (?:with|settings|options)|"
    r"not supported (?:together )?with\b|does not support (?:both|being combined)|"
    r"(?:are|is) (?:quantised|quantized|fused|enabled|applied) already|already (?:quantised|"
    r"quantized)"
)

RULES = (
    Rule(
        "unknown_flag",
        "bad_flag",
        "application",
        "implementation",
        "use the names that this version knows; this one was removed, renamed or never there",
        trouble(
            r"unrecognized arguments?|unrecognised arguments?|no such option|unknown (?:option|"
            r"flag|"
            r"argument|key|switch|setting)|unexpected argument|invalid choice|ambiguous option|"
            r"expected (?:one|at least one|\d+) arguments?|the following arguments are required|"
            r"extra (?:inputs|fields) (?:are )?not permitted|got an unexpected keyword argument|"
            r"has been removed|is no longer (?:supported|available)"
        ),
        0.9,
    ),
    Rule(
        "model_config",
        "model_config",
        "framework",
        "idea",
        "do not ask for this of a checkpoint that was not made for it",
        trouble(
            r"cannot find the config file for \w+|"
            r"quantization method specified in the model config"
            r".{0,40}does not match|(?:checkpoint|model) (?:was|is) not (?:quantized|trained|"
            r"made)|"
            r"no (?:draft|mtp|eagle|medusa|quantization|scale)\w* (?:head|layer|weights?|config)"
        ),
        0.75,
    ),
    Rule(
        "model_config",
        "model_config",
        "framework",
        "implementation",
        "use a version that knows this model, or correct its folder (config, tokenizer, files)",
        trouble(
            r"does not recognize this architecture|model architectures? .{0,80}not supported|"
            r"model[ _]type .{0,60}(?:not|unknown|unrecogn)|unrecognized (?:model|configuration)|"
            r"can't load the (?:configuration|tokenizer|model)|trust_remote_code|"
            r"unknown quantization method|unsupported (?:model|quantization|rope)|rope_(?:scaling|"
            r"type).{0,60}(?:must|invalid|unknown|missing|error|not)|failed to infer device|"
            r"no (?:config|tokenizer|safetensors|weights?)\b.{0,30}"
            r"(?:file|found)|(?:config|tokenizer|generation_config)\.json.{0,60}(?:not|missing|"
            r"no )|"
            r"cannot find (?:any )?model weights|chat template.{0,40}(?:missing|not|required)|"
            r"(?:model|checkpoint|tokenizer) (?:folder|path|directory|file).{0,60}"
            r"(?:missing|not|incomplete)|not a valid model identifier|not a local folder|"
            r"vocab(?:ulary)? size.{0,30}mismatch"
        ),
        0.75,
    ),
    Rule(
        "incompatible_settings",
        "bad_flag",
        "framework",
        "idea",
        "do not combine these; the program refuses it by design",
        trouble(_REFUSES_FOR_GOOD),
        0.8,
    ),
    Rule(
        "bad_flag",
        "bad_flag",
        "application",
        "implementation",
        "give it a value that it takes",
        any_of(
            raised(r"(?:\w*Validation|Settings|Usage|Argument|Config\w*)Error"),
            trouble(
                r"validation errors? for|invalid (?:value|argument|option|setting|"
                r"type)\b(?! encoun)|"
                r"allowed values|(?:must|should|has to) be (?:one of|at least|at most|between|"
                r"positive|"
                r"greater|less|smaller|larger|in |a |an |divisible by (?:the )?(?:tensor|number|"
                r"tp))|"
                r"(?:is|was) (?:greater|larger|smaller|less) than (?:the )?(?:derived|maximum|max|"
                r"allowed|limit|number|model)|not a valid|out of range \(|argument -{1,2}\w|"
                r"(?:attention heads|num_heads|heads).{0,60}divisible|needs? \w+[.=]\w+|"
                r"(?:requires?|needs) (?:--|\w+_\w+)|a number above|\bneeds \w+(?:, \w+)*$|"
                r"please use \w+ instead|could not parse|invalid JSON|yaml\.\w+Error|"
                r"JSONDecodeError"
            ),
            all_of(anywhere(r"^\s*usage: "), trouble(r"error:|exit status 2")),
        ),
        0.75,
    ),
    Rule(
        "incompatible_settings",
        "bad_flag",
        "framework",
        "idea",
        "do not ask this of this model or stack; the program does not support it",
        but_not(
            trouble(
                r"(?:is|are) not (?:yet )?supported (?:for|by|in|when|on this model)|"
                r"(?:feature|mode|option|method|algorithm|decoding|parallelism|sampling).{0,40}"
                r"(?:is|are) not (?:yet )?supported|does not (?:yet )?support (?:LoRA|speculative|"
                r"prefix|chunked|pipeline|tensor|expert|quantiz|\w+ parallel)"
            ),
            trouble(r"kernel|head[ _]?(?:size|dim)|shape|gfx\d|\bsm_?\d|dtype|layout|capability"),
        ),
        0.6,
    ),
)
