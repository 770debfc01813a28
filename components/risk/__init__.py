"""Risk of what leaves: of a released table now, of models later."""
