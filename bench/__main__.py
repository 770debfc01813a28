"""All benchmarks, one after the other."""

from bench import guided, lattice, report

for benchmark in (guided, lattice, report):
    benchmark.main()
