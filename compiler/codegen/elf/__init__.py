"""ELF: links kernel objects into the shared object that a `.vmfb` holds."""
