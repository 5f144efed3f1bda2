"""The embedded engine: a small real LLM inference server, its model folder, trace and client."""
