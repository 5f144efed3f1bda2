"""Tests of profiles from the files of profilers."""
