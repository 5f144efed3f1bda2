"""Tests of the embedded engine; a package, so that they share the tiny model."""
