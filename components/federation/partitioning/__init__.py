"""Partitioning: whose rows are whose."""
