"""Privacy criteria: one measuring function each over counts of values in classes, bound to a table where asked."""
