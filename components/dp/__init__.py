"""Differential privacy: mechanisms, exact accounting, budgets and what may be claimed."""
