"""All benchmarks, one after the other."""

from bench import guided

guided.main()
