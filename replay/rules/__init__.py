"""Rules of the audit: one file and one line in ``arbor.replay.audit`` each."""
