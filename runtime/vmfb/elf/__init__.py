"""ELF: links objects into the shared object that a `.vmfb` holds, and the native runtime."""
