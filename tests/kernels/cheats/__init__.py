"""Kernels that look right or fast and are neither; the harness must refuse each by its rule.

Every module has ``candidate``, which solves SiLU-and-multiply in float32 in its own way, and
``RULE``, the name of the rule that must refuse it. Arithmetic is done by numpy, which stands for a
kernel's own code here: PyTorch does not see it.
"""
