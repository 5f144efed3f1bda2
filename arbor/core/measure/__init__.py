"""Statistics of paired, interleaved windows; pure."""
