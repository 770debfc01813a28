"""Time of the full report on criteria and risk, as a ratio to one pandas groupby over the same quasi-identifiers.

Raw Adult is the hard case: its six quasi-identifiers make 13,054 classes of 30,162 rows. ``python -m bench.report``.
"""

import sys
from pathlib import Path

from bench.clock import seconds
from bench.lattice import ADULT_ROWS, table
from bench.points import Verdict
from components.anonymization import measure
from components.anonymization.criteria.requirements import required
from components.anonymization.declarations import Guided
from components.anonymization.population import risk_in_population
from components.data.table import Table
from components.risk.subsets import subset_risk

LIMIT = 50.0
CRITERIA = [
    {"name": "l_distinct", "l": 2},
    {"name": "l_entropy", "l": 1.5},
    {"name": "l_recursive", "l": 2, "c": 3.0},
    {"name": "alpha", "alpha": 0.9},
    {"name": "t", "t": 0.3},
    {"name": "beta", "beta": 2.0},
    {"name": "beta_enhanced", "beta": 2.0},
    {"name": "delta_disclosure", "delta": 1.0},
]
"""One of each kind, beside k."""


def report(made: Table) -> int:
    """Measure every criterion, release risk, risk by subsets up to three columns and in a population.

    Returns
    -------
    int
        Classes of the table.
    """
    asked = required(Guided.model_validate({"criteria": CRITERIA}), made)
    found = measure(made.frame, made.schema, requirements=asked)
    subset_risk(made.frame, made.schema)
    risk_in_population(made, 100 * len(made.frame))
    return found.classes


def ratio(repeats: int = 7) -> tuple[float, float, int]:
    """Return the ratio of the fastest report to the fastest groupby, the former's seconds, and the classes."""
    made = table(ADULT_ROWS)
    names = made.schema.quasi_identifiers
    plain = made.frame[names].astype({"age": "category"})
    classes = report(made)
    grouped, reported = [], []
    for _ in range(repeats):
        grouped.append(seconds(lambda: plain.groupby(names, observed=True).size()))
        reported.append(seconds(lambda: report(made)))
    return min(reported) / min(grouped), min(reported), classes


def proof(_work: Path) -> Verdict:
    """Measure the report against its limit."""
    found, taken, classes = ratio()
    return Verdict(found <= LIMIT, f"{found:.1f} x a groupby ({taken:.3f} s), {classes:,} classes; limit {LIMIT:.0f}")


def main() -> int:
    """Print the ratio; 1 when it is over its limit."""
    verdict = proof(Path())
    sys.stdout.write(f"full report on raw Adult: {verdict.figure}\n")
    return 0 if verdict.holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
