"""Task files in KernelBench's published form: ``Model``, ``get_inputs``, ``get_init_inputs``."""
