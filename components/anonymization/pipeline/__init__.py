"""Several recodings on different columns, in order."""
