"""Agreed transformations, and the space in which models see generalised columns."""
