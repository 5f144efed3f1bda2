"""Tests of the command target."""
