"""Mixture of experts: top-k routing, two grouped matrix products, weighted sum."""
