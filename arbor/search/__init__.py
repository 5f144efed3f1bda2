"""Typed search spaces and ask/tell engines."""
