"""All benchmarks, one after the other; 1 when one is over its limit."""

from bench import federation, guided, lattice, minimization, report

raise SystemExit(max([benchmark.main() for benchmark in (guided, lattice, minimization, report, federation)]))
