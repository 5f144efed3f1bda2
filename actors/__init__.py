"""Reactors (pure) and the shells that give them a log, a clock and a process."""
