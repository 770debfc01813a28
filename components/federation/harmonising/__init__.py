"""Harmonised anonymisation: sites anonymise their own rows on levels that all of them use."""
