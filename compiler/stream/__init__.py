"""The stream phase: when work runs and where memory lives."""
