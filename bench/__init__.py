"""Measurements of what the components cost and what they keep; not part of the package."""
