"""Model-guided anonymisation."""
