"""Projections of the log: report, audit, export, SQL."""
