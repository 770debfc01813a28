"""Aggregation: from the clients' updates to the next global weights."""
