"""RMSNorm with an optional residual: ``y = (x + r) / rms(x + r) * w``."""
