"""Compiles kernels for accelerators that are not here, and reads what came out."""
