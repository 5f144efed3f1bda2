"""Softmax over rows."""
