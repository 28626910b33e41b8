"""The public names of pyiree: `jit`, the stages, arrays and configuration (all loaded on first use)."""
