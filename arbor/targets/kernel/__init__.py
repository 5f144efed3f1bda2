"""The ``kernel`` target: one operator or one task file, its configurations and its code."""
