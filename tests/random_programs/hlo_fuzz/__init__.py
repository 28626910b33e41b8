"""Random StableHLO programs, and processes that say what they compute: ours, the StableHLO interpreter and XLA."""
