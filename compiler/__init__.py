"""The compiler: StableHLO to IREE `.vmfb`, phase by phase."""
