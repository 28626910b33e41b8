"""The runtime: loads and runs IREE `.vmfb` modules; needs neither jax nor the compiler."""
