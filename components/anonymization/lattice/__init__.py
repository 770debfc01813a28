"""Optimal full-domain generalisation over the lattice of level vectors."""
