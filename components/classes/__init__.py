"""What records have in common: columns as codes, equivalence classes as counts, persons, suppressed rows."""
