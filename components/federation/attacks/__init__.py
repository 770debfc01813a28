"""Simulated attacks, for tests and demonstrations of what aggregation and the drift check withstand."""
