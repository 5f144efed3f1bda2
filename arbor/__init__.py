"""Arbor: makes a running LLM inference stack faster by itself, and can prove every step."""

__version__ = "0.1.0"
