"""What must hold, each point as a function of its size: ``make proof`` calls it at full size, the tests at a small one.

Every function runs the product as a user does, in a folder of its own, and returns a `Verdict`.
"""

import json
import random
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from scipy import stats

from bench.product import ADULT, ROOT, Finished, call, class_sizes, environment, run_folders

CANARY = "ZZ-CANARY-7731"
MINIMISED = (
    ("minimization=tree", "minimization.target=0.5"),
    ("minimization=greedy", "minimization.target=0.5"),
    ("minimization=personal", "minimization.delta=0.5"),
)
UNREACHABLE = "anonymization.criteria=[{name: k, k: 5}, {name: l_entropy, l: 11.99, column: diagnosis}]"
ADULT_QIS = [
    "age",
    "workclass",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
]

# Put in front of the runner: any connection attempt is an error.
OFFLINE = """
import runpy, socket, sys
def refuse(*_):
    raise OSError("a connection was attempted")
socket.socket.connect = socket.socket.connect_ex = refuse
socket.getaddrinfo = refuse
sys.argv = ["runner", *sys.argv[1:]]
runpy.run_module("runner", run_name="__main__", alter_sys=True)
"""


@dataclass(frozen=True)
class Verdict:
    """Whether a point holds, and the figure that says so."""

    holds: bool
    figure: str


def default_run(work: Path, limit: float = 60.0) -> Verdict:
    """``python -m runner`` alone: exit 0, no connection, synthetic hospitals, in less than `limit` seconds."""
    start = time.perf_counter()
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", OFFLINE],
        cwd=work,
        env={**environment(), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - start
    folders = run_folders(work / "outputs")
    said = "synthetic" in done.stdout
    holds = done.returncode == 0 and len(folders) == 1 and said and seconds < limit
    return Verdict(holds, f"exit {done.returncode}, {seconds:.1f} s, called synthetic: {said}")


def adult(work: Path, *more: str) -> Finished:
    """Run the Adult setting of the issue with further overrides."""
    return call("dataset=adult", f"dataset.source.path={ADULT}", "anonymization=guided", "model=tree", *more, cwd=work)


def adult_k(work: Path, k: int = 10) -> Verdict:
    """Count the classes of the released file by dictionaries: the smallest has at least k rows."""
    done = adult(work, f"anonymization.k={k}")
    if done.exit_code != 0:
        return Verdict(holds=False, figure=f"exit {done.exit_code}: {done.stderr.strip()}")
    sizes = class_sizes(done.release, ADULT_QIS)
    rows = done.record["flow"]["rows_in"]
    told = done.metric("anonymization", "k", when="after")
    holds = sizes[0] >= k and sizes[0] == told and rows == 32_561
    return Verdict(holds, f"k = {sizes[0]} counted, {told:.0f} recorded, {len(sizes)} classes, {rows} rows read")


def adult_accuracy(work: Path, k: int, limit: float, seeds: Iterable[int] = range(10)) -> Verdict:
    """Mean over seeds of (raw - retrained) test accuracy, paired, is at most `limit`."""
    losses = []
    for seed in seeds:
        done = adult(work, f"anonymization.k={k}", f"seed={seed}")
        if done.exit_code != 0:
            return Verdict(holds=False, figure=f"seed {seed}: exit {done.exit_code}: {done.stderr.strip()}")
        raw = done.metric("model", "accuracy", scope="original", split="test")
        retrained = done.metric("model", "accuracy", scope="anonymized", split="test")
        losses.append(raw - retrained)
    mean = float(np.mean(losses))
    figure = f"{mean:.4f} over {len(losses)} seeds, limit {limit}"
    if len(losses) > 1:
        half = stats.sem(losses) * stats.t.ppf(0.975, len(losses) - 1)
        figure = f"{mean:.4f} +- {half:.4f} over {len(losses)} seeds, limit {limit}"
    return Verdict(mean <= limit, figure)


def hospitals_csv(work: Path, rows: int) -> tuple[pd.DataFrame, Path]:
    """Write the synthetic hospitals as a CSV file with a dataset option ``mine`` beside it, in ``work/conf``.

    Returns
    -------
    frame : pandas.DataFrame
        All cells as text.
    folder : Path
        To be given as ``--config-dir``.
    """
    from components.data import read
    from components.data.declarations import Hospitals
    from schemas.dataset import DatasetSchema

    declared = yaml.safe_load((ROOT / "conf" / "dataset" / "hospitals.yaml").read_text(encoding="utf-8"))
    schema = DatasetSchema(**declared)
    source = Hospitals(**{**declared["source"], "rows": rows})
    frame = read(schema, source, work).table.frame
    file = work / "mine.csv"
    frame.to_csv(file, index=False, na_rep=declared["missing"]["markers"][0])
    declared["name"] = "mine"
    declared["source"] = {"name": "csv", "path": str(file)}
    folder = work / "conf"
    (folder / "dataset").mkdir(parents=True, exist_ok=True)
    (folder / "dataset" / "mine.yaml").write_text(yaml.safe_dump(declared, sort_keys=False), encoding="utf-8")
    return pd.read_csv(file, dtype=str, keep_default_na=False), folder


def files_with(needle: str, folder: Path) -> set[str]:
    """Return the files below `folder` whose bytes, or unpacked members, hold `needle`."""
    found = set()
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        texts = [path.read_bytes()]
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                texts += [archive.read(member) for member in archive.namelist()]
        if path.suffix == ".parquet":
            texts.append(pd.read_parquet(path).to_csv().encode())
        if any(needle.encode() in text for text in texts):
            found.add(path.relative_to(folder).as_posix())
    return found


def canary(work: Path, rows: int = 400, columns: Sequence[str] | None = None) -> Verdict:
    """Put a canary in one cell: it shows in declared data outputs at most, and in no word of the terminal.

    Every column of the hospitals is tried in turn (`columns` narrows it). Where the schema allows the canary, the
    run ends well, or is made to miss its goal by an l that no class can reach; elsewhere it is refused with exit 3.
    The failed runs are searched just so.
    """
    frame, conf = hospitals_csv(work, rows)
    declared = yaml.safe_load((conf / "dataset" / "mine.yaml").read_text(encoding="utf-8"))["columns"]
    hidden = {name for name, column in declared.items() if column["role"] in {"identifier", "drop"}}
    leaks: list[str] = []
    ended = {0: 0, 3: 0, 4: 0}
    for number, column in enumerate(columns or list(frame.columns)):
        minimised = MINIMISED[number % len(MINIMISED)]
        marked = frame.copy()
        marked.loc[rows // 2, column] = CANARY
        marked.to_csv(work / "mine.csv", index=False)
        for name, more in (("fits", ()), ("misses", (UNREACHABLE,))):
            outputs = work / f"{column}-{name}"
            done = call(
                "--config-dir",
                str(conf),
                "dataset=mine",
                "model=tree",
                f"output.dir={outputs}",
                *minimised,
                *more,
                cwd=work,
            )
            ended[done.exit_code] = ended.get(done.exit_code, 0) + 1
            places = files_with(CANARY, outputs)
            places |= {stream for stream, text in (("stdout", done.stdout), ("stderr", done.stderr)) if CANARY in text}
            kept = column not in hidden  # an identifier is in no release either
            leaks += [
                f"{column}: {place}"
                for place in sorted(places)
                if not (kept and re.search(r"/data/release\.\w+$", place))
            ]
    holds = not leaks and set(ended) == {0, 3, 4} and min(ended.values()) > 0
    return Verdict(holds, f"runs ended (exit: number) {ended}, leaks: {', '.join(leaks) or 'none'}")


def row_order(work: Path, rows: int = 6000, shuffles: int = 3) -> Verdict:
    """Shuffle the rows: the release, written in the order of its values, and what is asked have the same bytes."""
    frame, conf = hospitals_csv(work, rows)
    found = set()
    for seed in range(shuffles + 1):
        order = np.random.default_rng(seed).permutation(rows) if seed else np.arange(rows)
        frame.iloc[order].to_csv(work / "mine.csv", index=False)
        done = call("--config-dir", str(conf), "dataset=mine", "model=tree", "minimization.target=0.7", cwd=work)
        if done.exit_code != 0 or done.folder is None:
            return Verdict(holds=False, figure=f"exit {done.exit_code}: {done.stderr.strip()}")
        made = ("data/release.csv", "minimization/generalizations.json", "minimization/ask.html")
        found.add(tuple(digest(done.folder / name) for name in made))
    return Verdict(len(found) == 1, f"{len(found)} different results of {shuffles + 1} orders of {rows} rows")


def same_seed(work: Path, *overrides: str) -> Verdict:
    """Two runs with one seed: every file but record and events has the same bytes; the record's figures agree."""
    first, second = (call(*overrides, cwd=work) for _ in range(2))
    if first.folder is None or second.folder is None:
        return Verdict(holds=False, figure=f"exit {first.exit_code}: {first.stderr.strip()}")
    told_apart = {"record.json", "events.jsonl"}
    one, two = (
        {path: value for path, value in digests(folder).items() if path not in told_apart}
        for folder in (first.folder, second.folder)
    )
    differ = sorted(path for path in one.keys() | two.keys() if one.get(path) != two.get(path))
    figures = first.record["metrics"] == second.record["metrics"]
    return Verdict(not differ and figures, f"{len(one)} files compared, different: {', '.join(differ) or 'none'}")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return sha256(path.read_bytes()).hexdigest()


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file below a folder by relative path."""
    return {path.relative_to(folder).as_posix(): digest(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def whole(folder: Path) -> bool:
    """Say whether a run folder holds what its record lists, byte for byte, and nothing else."""
    record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    listed = {output["path"]: output["sha256"] for output in record["outputs"]}
    found = {path: value for path, value in digests(folder).items() if path != "record.json"}
    return listed == found and record["status"] in {"completed", "failed", "interrupted"}


def kills(work: Path, number: int = 30, seed: int = 0, *overrides: str) -> Verdict:
    """SIGKILL at random moments: at the final path nothing or a whole run, the rest listed as interrupted."""
    start = time.perf_counter()
    earlier = call(*overrides, cwd=work)
    seconds = time.perf_counter() - start
    if earlier.folder is None:
        return Verdict(holds=False, figure=f"exit {earlier.exit_code}: {earlier.stderr.strip()}")
    kept = digests(earlier.folder)
    draw = random.Random(seed)  # noqa: S311  # moments, not secrets
    killed = 0
    for _ in range(number):
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "runner", *overrides],
            cwd=work,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            process.wait(draw.uniform(0, seconds))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.wait()
    folders = run_folders(work / "outputs")
    broken = sorted(folder.name for folder in folders if not whole(folder))
    left = len([path for path in (work / "outputs").rglob(".work-*") if path.is_dir()])
    listing = call("list", cwd=work)
    told = listing.stdout.count("interrupted")
    untouched = digests(earlier.folder) == kept
    holds = not broken and told == left and untouched and listing.exit_code == 0
    return Verdict(
        holds,
        f"{killed} of {number} killed, {len(folders)} whole at the final path, {len(broken)} broken, "
        f"{left} left and {told} listed as interrupted, earlier run untouched: {untouched}",
    )


def wheel(work: Path) -> Verdict:
    """Install the built wheel into an empty environment and run it beside decoys of our packages."""
    here, environ = work / "here", work / "venv"
    python = environ / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", work, ROOT]
    for command in (build, [sys.executable, "-m", "venv", environ]):
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    (built,) = work.glob("*.whl")
    subprocess.run([*pip, "-c", ROOT / "constraints.txt", built], check=True, capture_output=True)  # noqa: S603
    for name in ("conf", "schemas", "components"):
        (here / name).mkdir(parents=True)
        (here / name / "__init__.py").write_text("raise ImportError('a decoy was imported')\n", encoding="utf-8")
    done = subprocess.run(  # noqa: S603
        [python, "-m", "runner"], cwd=here, env=environment(), capture_output=True, text=True, check=False
    )
    folders = run_folders(here / "outputs")
    holds = done.returncode == 0 and len(folders) == 1
    return Verdict(holds, f"exit {done.returncode}, {len(folders)} run folder, {built.name} alone in its environment")


CASES = (
    *("u01", "u03", "u04", "u06", "u07", "u09", "u13", "u16", "u18", "u19", "u22"),
    *("u23", "u24", "u25", "u27", "u28", "u30", "u34", "u36", "x1", "x3", "x4", "x11"),
)


def cases(work: Path) -> Verdict:
    """Run the tests of every case; each is named ``test_<case>_...``."""
    return passed(work, "tests/test_cases.py", [f"::test_{case}_" for case in CASES])


def light_start(work: Path) -> Verdict:
    """Run the tests of what starts light, that of the answers that import nothing heavy among them."""
    return passed(work, "tests/test_imports.py", ["::test_answers_that_need_no_data_import_nothing_heavy"])


def passed(work: Path, file: str, needed: Sequence[str]) -> Verdict:
    """Run a file of tests: all pass, and each name in `needed` begins that of one at least."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "pytest", "-v", file, "-p", "no:cacheprovider", f"--basetemp={work / 'pytest'}"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    absent = [name for name in needed if not any(name in line and "PASSED" in line for line in lines)]
    figure = lines[-1].strip("= ") + (f"; no test passed for {', '.join(absent)}" if absent else "")
    return Verdict(done.returncode == 0 and not absent, figure)
