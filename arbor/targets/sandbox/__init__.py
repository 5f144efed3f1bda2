"""Runs what a model wrote: a clean environment, few rights, limits, and nothing left over."""
