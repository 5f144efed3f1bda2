"""Tests of the vLLM target."""
