"""The vLLM target."""
