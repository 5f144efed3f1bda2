"""The child program of the ``kernel`` target: checks, times and profiles what a worktree holds."""
