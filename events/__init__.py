"""Immutable events, the log that keeps them, blobs and errors."""
