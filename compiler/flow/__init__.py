"""The flow phase: what is one dispatch; executables outlined."""
