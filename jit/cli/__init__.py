"""The command `pyiree`: compile, run, look into and time programs, and keep the cache."""
