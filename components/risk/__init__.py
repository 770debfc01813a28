"""Risk of what leaves: of a released table now, of models later. Knows classes and counts, not how they were made."""
