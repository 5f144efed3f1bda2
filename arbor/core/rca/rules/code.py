"""Code that is wrong: of the attempt, of a pass, of a kernel, or in a compiler's eyes."""

from arbor.core.rca.base import Rule
from arbor.core.rca.finders import any_of, anywhere, but_not, raised, through_frames, trouble
from arbor.core.rca.patched import in_patch

_COMPILERS = (
    r"torch/_inductor|torch/_dynamo|torch/_functorch|triton/compiler|triton/backends|"
    r"vllm/compilation|torch/fx|/mlir/|tvm/|torch/_export"
)

RULES = (
    Rule(
        "missing_kernel_for_shape",
        "kernel_shape_or_layout",
        "kernel",
        "implementation",
        "use this only where the kernel exists for the shape, type and device; another backend"
        " elsewhere",
        any_of(
            trouble(
                r"(?:cannot|could not|unable to|failed to|can't|not) (?:get|find|found|"
                r"select)\b.{0,30}"
                r"(?:kernel|solution|algo|tactic|instance|config|implementation|backend)|"
                r"no (?:suitable|valid|matching|available|supported|compatible|feasible|such)?\s?"
                r"(?:gemm |moe |attention )?(?:kernel|solution|algo\w*|tactic|instance|"
                r"implementation|backend|tile)s?\b|"
                r"does not support this (?:gemm )?problem|this GEMM is not supported|"
                r"BLAS(?:LT)?_STATUS_(?:NOT_SUPPORTED|INVALID_VALUE|ARCH_MISMATCH)|"
                r"MIOPEN_STATUS|(?:CUTLASS|cutlass).{0,40}(?:error|cannot|fail|not support)|"
                r"(?:unsupported|invalid|not supported|unexpected).{0,30}(?:head[ _]?(?:size|"
                r"dim)|gqa|"
                r"page[ _]size|block[ _]size|group[ _]size|tile|hidden[ _]size|num_heads|topk|"
                r"vec(?:tor)?[ _]size|layout)|"
                r"(?:head[ _]?(?:size|dim)|gqa|page[ _]size|block[ _]size|group[ _]size|hidden[ _]"
                r"(?:size|dim)|layout)\b.{0,40}(?:not supported|unsupported|is not|must be|only)|"
                r"(?:kernel|op|operator).{0,40}(?:not (?:supported|implemented|available)|"
                r"unsupported)|not implemented for '\w+'|"
                r"expected at most 0 argument|could not run '\w+::[\w.]+' with arguments|"
                r"only (?:supports?|implemented for)|could not create a primitive|"
                r"cannot find symbol with name|BLAS(?:LT)?_STATUS_(?:EXECUTION_FAILED|"
                r"INTERNAL_ERROR)|"
                r"(?:CUDA|HIP) error: invalid (?:argument|value)|hipErrorInvalidValue"
            ),
            raised(
                r"AttributeError",
                r"'_OpNamespace' '(?:_\w*C\w*|_C\w*|sgl_kernel|aiter)' object has no attribute",
            ),
            raised(r"NotImplementedError"),
        ),
        0.8,
    ),
    Rule(
        "model_config",
        "model_config",
        "framework",
        "implementation",
        "load this checkpoint with a loader that knows its layout",
        any_of(
            raised(
                r"AssertionError|RuntimeError|ValueError|KeyError|IndexError|TypeError",
                frames=r"weight_utils|model_loader|load_weights|weight_loader|loader\.py",
            ),
            raised(
                r"AssertionError|RuntimeError|ValueError|KeyError",
                source=r"load_weights|weight_loader|loaded_weight|loaded_shard|load_merged|load_qkv",
            ),
            trouble(
                r"loaded[_ ]weight|loaded=\(|size mismatch for|no module or parameter named|"
                r"(?:unexpected|missing) key(?:\(s\)|s)? in (?:state_dict|checkpoint)|"
                r"weights? .{0,40}not (?:found|initialized|loaded)|SafetensorError|"
                r"KeyError: '[\w.]*(?:layers|experts|proj|embed)[\w.]*'|"
                r"MetadataIncompleteBuffer|HeaderTooLarge|checkpoint.{0,60}(?:incomplete|corrupt)"
            ),
        ),
        0.75,
    ),
    Rule(
        "shape_mismatch",
        "kernel_shape_or_layout",
        "kernel",
        "implementation",
        "give the operation the shapes, strides and types that it expects",
        trouble(
            r"shapes? (?:cannot|can't) be multiplied|size of tensor a|shape mismatch|"
            r"mat\d? and mat\d? (?:must|shapes)|must (?:be|have) (?:the same|contiguous|"
            r"divisible|a "
            r"multiple)|(?:is|are) not (?:divisible|contiguous|aligned|a multiple)|"
            r"expected .{0,60}(?:dtype|scalar type|contiguous|stride|to have the same)|"
            r"(?:stride|strides|alignment|dtype)\b.{0,40}(?:mismatch|must|not supported|expected|"
            r"unsupported)|unsupported (?:data ?type|dtype)|view size is not compatible|"
            r"invalid for input of size|index out of (?:range|bounds)|CHECK_(?:EQ|SHAPE|"
            r"CONTIGUOUS)"
        ),
        0.75,
    ),
    Rule(
        "implementation_error",
        "implementation_error",
        "",
        "implementation",
        "correct the code: it names or calls what does not exist there",
        any_of(
            raised(r"NameError|UnboundLocalError|SyntaxError|IndentationError"),
            raised(r"AttributeError|TypeError|RecursionError|ZeroDivisionError"),
            trouble(r"tensors? to be on the same device|found at least two devices"),
            in_patch(r"(?:Error|Exception)\b"),
        ),
        0.8,
    ),
    Rule(
        "compiler_error",
        "compiler",
        "compiler",
        "implementation",
        "write it so that the compiler takes it, or leave this compilation, fusion or pass out",
        any_of(
            anywhere(
                r"LLVM ERROR|cannot select:|error: (?:ran out of registers|unable to legalize|"
                r"couldn't allocate)|PassManager::run failed|PLEASE submit a bug report"
            ),
            trouble(
                r"InductorError|BackendCompilerFailed|LoweringException|CompilationError|"
                r"InternalTorchDynamoError|TorchRuntimeError|_dynamo\.exc|pipeline failed|"
                r"ptxas (?:fatal|error)|nvcc (?:fatal|error)|(?:hipcc|clang|clang\+\+|g\+\+|"
                r"ld\.lld|"
                r"lld|nvlink): (?:fatal )?error|ninja: build stopped|error building extension|"
                r"(?:subprocess-exited-with-error|compilation (?:failed|terminated|error))|"
                r"C\+\+ compile error|undefined reference to|error: static assertion|"
                r"\.(?:cpp|cu|cuh|hip|h|hpp|cc|mlir|ttgir|ttir|py):\d+:\d+: (?:fatal )?error|"
                r"make(?:\[\d+\])?: \*\*\*|(?:mlir|ttg?ir).*(?:fail|assert)|hiprtc|nvrtc.*error|"
                r"failed to (?:compile|lower|legalize|codegen)"
            ),
            raised(
                r"AssertionError|RuntimeError|ValueError|KeyError|IndexError|Unsupported",
                frames=_COMPILERS,
                innermost=True,
            ),
            through_frames(r"CalledProcessError.*(?:nvcc|hipcc|gcc|g\+\+|ninja|clang)", r"."),
        ),
        0.8,
    ),
    Rule(
        "invalid_value",
        "implementation_error",
        "",
        "implementation",
        "look at the assertion; the code that the attempt reached does not hold",
        but_not(
            raised(r"AssertionError"),
            trouble(
                r"\bGATE\b|accuracy|not greater|not less|allclose|tolerance|not close|"
                r"mismatched elem"
            ),
        ),
        0.5,
    ),
)
