"""Matrix product of activations and weights, ``x @ w.T``, in bf16, fp16, fp32 or scaled fp8."""
