"""Attention of one new token a sequence over a paged key-value cache."""
