"""Checks and times kernels so that nobody can fool it."""
