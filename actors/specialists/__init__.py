"""Specialists: built for one action, they return a commit that is ready to be measured."""
