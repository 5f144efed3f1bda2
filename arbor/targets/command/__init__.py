"""The ``command`` target: any HTTP server that a campaign file describes by its commands."""
