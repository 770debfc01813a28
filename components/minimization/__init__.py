"""Data minimisation: how little of a person a fitted model needs, and what to ask for at the point of collection."""
