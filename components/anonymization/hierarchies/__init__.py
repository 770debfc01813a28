"""Generalisation hierarchies: declared, read, checked, and climbed."""
