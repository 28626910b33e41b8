"""Loads, verifies and runs VM bytecode modules."""
