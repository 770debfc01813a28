"""Joint greedy search over one ladder of ever coarser partitions per attribute."""
