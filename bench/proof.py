"""Every promise at full size, one line a point: ``python -m bench.proof [WORD ...]``.

Results are kept in ``bench/results/proof.jsonl`` by point and code, so that a second call goes on where the first
one stopped; another state of the code starts anew. WORDs narrow the points to those whose name holds one of them.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from bench import (
    agreement,
    anonymisation,
    drift,
    federated,
    federation,
    guided,
    lattice,
    methods,
    minimization,
    points,
    report,
)
from bench.points import Verdict
from bench.product import ROOT

RESULTS = ROOT / "bench" / "results" / "proof.jsonl"


POINTS: dict[str, Callable[[Path], Verdict]] = {
    "default run: offline, under 60 s, synthetic": points.default_run,
    "adult, k=10: counted on the released file": points.adult_k,
    "adult, k=10: mean accuracy lost <= .005": lambda work: points.adult_accuracy(work, 10, 0.005),
    "adult, k=100: mean accuracy lost <= .008": lambda work: points.adult_accuracy(work, 100, 0.008),
    "cases U01-U36, X1-X4, X11": points.cases,
    "canary in every column": points.canary,
    "guided: time <= 1.5 x tree, memory <= 3 x table": guided.proof,
    "light start": points.light_start,
    "rows in another order, same release": points.row_order,
    "same seed, same bytes": lambda work: points.same_seed(work, "dp.noise_seed=5"),
    "30 random kills": points.kills,
    "wheel in an empty environment, beside decoys": points.wheel,
    "every method and criterion on 4,000 random tables, counted on the released files": methods.methods,
    "lattice: the oracle table, 8 rows": anonymisation.oracle,
    "lattice: adult_arx and creditcard run complete": anonymisation.benchmark_tables,
    "lattice: 11 columns of 3 levels on 10 rows under 30 s": anonymisation.eleven_columns,
    "lattice: time and memory against a groupby": lattice.proof,
    "full report on raw Adult: at most 50 x a groupby": report.proof,
    "lattice: 1M rows x 8 columns end to end": anonymisation.million,
    "minimisation: NCP and agreement on unseen rows of adult, 20 seeds": agreement.adult,
    "minimisation: income and debt-to-income of loans in ranges": agreement.loans,
    "minimisation: right values": agreement.right_values,
    "minimisation: every framework by its real library": agreement.frameworks,
    "minimisation: time, memory and rows a second": minimization.proof,
    "privacy: right values, and 100 audits": federated.privacy_values,
    "federation: right values, engines alike": federated.federation_values,
    "privacy: a plan's arithmetic for 10 clients under 5 s": federated.arithmetic,
    "federation: cancer severity, 20 seeds": federated.cancer,
    "federation: sites of unequal size, 20 seeds": federated.unequal,
    "federation: time beside a loop, Opacus and the number of clients": federation.proof,
    "drift: attackers excluded or harmless, honest sites not, 24 seeds": drift.proof,
}


def code_digest() -> str:
    """Return one digest of everything that a result depends on."""
    total = sha256()
    for folder in ("conf", "runner", "components", "schemas", "bench", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".py", ".yaml"}:
                total.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def earlier_results(code: str) -> dict[str, Verdict]:
    """Return the verdicts that were reached with the same code."""
    if not RESULTS.exists():
        return {}
    lines = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    return {line["point"]: Verdict(line["holds"], line["figure"]) for line in lines if line["code"] == code}


def main() -> int:
    """Run what has no result yet and print one line a point; 1 when a point doesn't hold."""
    code = code_digest()
    known = earlier_results(code)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    all_hold = True
    for name, point in POINTS.items():
        if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
            continue
        verdict = known.get(name)
        if verdict is None:
            start = time.perf_counter()
            try:
                with tempfile.TemporaryDirectory() as work:
                    verdict = point(Path(work))
            except FileNotFoundError as error:
                all_hold = False
                print(f"absent {name}: {error}; it needs the tables where bench/product.py looks for them", flush=True)
                continue
            line = {"point": name, "code": code, "holds": verdict.holds, "figure": verdict.figure}
            line["seconds"] = round(time.perf_counter() - start, 1)
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        all_hold &= verdict.holds
        print(f"{'holds' if verdict.holds else 'FAILS'}  {name}: {verdict.figure}", flush=True)
    return 0 if all_hold else 1


if __name__ == "__main__":
    sys.exit(main())
