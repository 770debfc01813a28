"""Drift: clients whose weights stand apart from the others', found and, if so configured, left out."""
