"""The vm phase: the host program as bytecode of IREE's register machine, and the `.vmfb` that holds it."""
