"""Analyses of the stream phase: where things are, what is used how, what may run together. Each prints itself."""
