"""Level 2 of the check, and what ``plan`` prints: header and row count are read, nothing is written.

Cells are read only where hierarchies have to be held against them.
"""

import json
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from runner.alone import ABSENT
from runner.compose import Composed
from runner.joined import SECTIONS
from runner.outcome import say
from runner.secrets import mask
from schemas.declaration import Declaration
from schemas.faults import ConfigurationError, DataError, Fault, GoalError, RunnerError

if TYPE_CHECKING:
    from components.data import Header, Table

WIDTH = 100
LABEL = 18
CHECKED = "configuration, columns, coverage, estimator, k and agreement against rows"
ROLES = ("identifier", "quasi_identifier", "sensitive", "insensitive", "drop")


def check_level2(composed: Composed, header: "Header") -> list[Fault]:
    """Check a configuration against header and row count of its table.

    Parameters
    ----------
    composed : Composed
    header : Header
        Column names and row count of the source.

    Returns
    -------
    list of Fault
        Of the model, of columns, and of k and minimisation against rows, in this order.
    """
    return [fault for _, faults in _level2(composed, header) for fault in faults]


COLUMNS = 1
"""Place in what `_level2` returns of the faults that reading the table tells again, with those of its cells."""


def require_level2(composed: Composed, header: "Header") -> None:
    """Raise what `check_level2` finds, as the kind of error it is.

    Raises
    ------
    ConfigurationError, DataError or GoalError
        The first of these that has a fault, with all faults of all kinds.
    """
    found = _level2(composed, header)
    faults = [fault for _, some in found for fault in some]
    for kind, some in found:
        if some:
            raise kind(faults)


def require_settings(composed: Composed, header: "Header") -> None:
    """Do what `require_level2` does, but pass where only columns are wrong.

    For a run, which reads the table next: reading tells faults of columns together with those of cells, and knows
    which columns look like identifiers.
    """
    if any(some for place, (_, some) in enumerate(_level2(composed, header)) if place != COLUMNS):
        require_level2(composed, header)


def _level2(composed: Composed, header: "Header") -> list[tuple[type[RunnerError], list[Fault]]]:
    from runner.plan_minimization import absent_faults, row_faults

    model, empty = _model_faults(composed)
    return [
        (ConfigurationError, [*model, *_key_faults(composed), *absent_faults(composed)]),
        (DataError, list(_column_faults(composed, header))),
        (DataError, empty),
        (GoalError, [*_k_faults(composed, header), *row_faults(composed, header.rows)]),
    ]


def _column_faults(composed: Composed, header: "Header") -> Iterator[Fault]:
    """Yield what the header lacks or has too much, and a table without rows."""
    from components.data.headers import column_faults

    source = _source(composed)
    for fault in column_faults(composed.config.dataset, header.names):
        yield replace(fault, source=fault.source or source)
    if header.rows == 0:
        yield Fault("table", "0 rows; k undefined", "at least 2 rows", source=source)


def _model_faults(composed: Composed) -> tuple[list[Fault], list[Fault]]:
    """Return what the model's own library finds wrong with its parameters, and with the rows of a file it names."""
    config = composed.config
    if config.model.name == ABSENT:
        return [], []
    from components.models import check

    try:
        found = check(config.model, config.dataset)
    except DataError as error:
        return [], list(error.faults)
    return [replace(fault, source=fault.source or composed.sources.get(fault.place, "")) for fault in found], []


def _key_faults(composed: Composed) -> list[Fault]:
    """Return what is wrong with the keys that pseudonyms are made with."""
    identifiers = getattr(composed.config.anonymization, "identifiers", {})
    if not identifiers:
        return []
    from components.anonymization.identifiers import check_keys

    return check_keys(identifiers)


def _k_faults(composed: Composed, header: "Header") -> Iterator[Fault]:
    """Yield the fault of a k that no class can reach, however the rows are grouped."""
    data = composed.config.dataset
    k, place = asked_k(composed.config.anonymization)
    # Where rows are parted by person, it is only known when they are read how many are left.
    train = train_rows(header.rows, data.split.test) if data.subject_id is None else header.rows - 1
    if k is None or k <= train or header.rows == 0:
        return
    rows = f"{header.rows} row{'s' if header.rows > 1 else ''}"
    problem = f"k={k} but {rows}" if k > header.rows else f"k={k} but only {train} of {rows} are left to train on"
    yield Fault(
        place, problem, f"k up to {train}" if train > 1 else "more rows", source=composed.sources.get(place, "")
    )


def asked_k(method: Declaration) -> tuple[int | None, str]:
    """Return the k that a method must reach, and the config path that says so; a criterion wins over the method's."""
    own = getattr(method, "k", None)
    for index, criterion in enumerate(getattr(method, "criteria", [])):
        if criterion.name == "k" and criterion.k != own:
            return criterion.k, f"anonymization.criteria.{index}.k"
    return own, "anonymization.k"


def train_rows(rows: int, test: float) -> int:
    """Return how many rows `components.data.split` leaves to train on, where rows are parted one by one."""
    if test == 0:
        return rows
    return rows - min(max(1, round(rows * test)), rows - 1) if rows > 1 else 0


def plan(composed: Composed) -> int:
    """Check level 2 and print what a run would do.

    Returns
    -------
    int
        Exit code 0.

    Raises
    ------
    RunnerError
        The source can't be read, or level 2 has faults.
    """
    from components.data import header

    data = composed.config.dataset
    found = header(data, data.source, composed.base)
    require_level2(composed, found)
    climbing, hopeless = _climbing(composed)
    parts: list[Iterable[tuple[str, str]]] = [
        _table(composed, found),
        climbing,
        _stages(composed, found),
        _federating(composed) if hopeless is None else [],
        _writing(composed, found),
        _settings(composed),
    ]
    if hopeless is None:
        parts.append([("checked", f"{CHECKED}: no fault found")])
    text = "\n".join(line for part in parts for label, about in part for line in _wrapped(label, about))
    say(mask(text, composed.secrets) + "\n")
    if hopeless is not None:
        raise hopeless
    return 0


def _climbing(composed: Composed) -> tuple[list[tuple[str, str]], RunnerError | None]:
    """Return what is to be said of hierarchies and searches, and the error that the run would end with before its work.

    Coverage and what a method can't reach are what the plan has to read the whole table for.
    """
    from runner.given import read_given, uses_hierarchies

    method, data = composed.config.anonymization, composed.config.dataset
    if not uses_hierarchies(method):
        return [], None
    from components.data import read
    from runner.plan_hierarchies import hierarchy_lines, lattice_lines, refuse_the_hopeless, search_time

    given = read_given(composed)
    table = read(data, data.source, composed.base).table
    lines = [*hierarchy_lines(table, given), *lattice_lines(method, given.hierarchies, data.quasi_identifiers)]
    try:
        requirements = refuse_the_hopeless(method, table, given)
        _refuse_unlearnable(composed, table)
    except RunnerError as error:
        return lines, error
    return [*lines, *search_time(method, table, given, requirements)], None


def _federating(composed: Composed) -> Iterator[tuple[str, str]]:
    """Yield what is to be said of clients, and of what training costs each."""
    from runner.alone import alone

    if not alone(composed.config):
        from runner.plan_federation import federation_lines

        yield from federation_lines(composed)


def _refuse_unlearnable(composed: Composed, table: "Table") -> None:
    """Raise what the train rows are too poor, or too rich, to teach an encoder that learns from them."""
    config = composed.config
    if config.model.name == ABSENT or not config.encoder.learn:
        return
    from components.data import split
    from components.data.encoding import Encoder
    from components.models.target import Target

    train = split(table, config.seed).train.frame
    Encoder.from_schema(config.dataset, config.dataset.features, train)
    for name in config.dataset.targets:
        Target.from_schema(config.dataset.of_target(name), train)


def _wrapped(label: str, text: str) -> list[str]:
    begin, indent = f"{label:<{LABEL}}", " " * LABEL
    return textwrap.wrap(text, WIDTH, initial_indent=begin, subsequent_indent=indent, break_on_hyphens=False) or [begin]


def _table(composed: Composed, header: "Header") -> Iterator[tuple[str, str]]:
    data = composed.config.dataset
    kind = "synthetic, no real person" if data.synthetic else "as described by its owner"
    yield "table", f"{data.name} ({kind}): {header.rows:,} rows, {len(header.names)} columns"
    yield "source", _described(data.source)
    for role in ROLES:
        if names := [column.name for column in data.columns if column.role == role]:
            yield role, ", ".join(name or '""' for name in names)
    left = [name for name in header.names if name not in data.names()]
    bare = [column.name for column in data.columns if column.role is None]
    if left or bare:
        yield "left out", f"{', '.join([*bare, *left])} (undeclared)"
    if data.targets:
        yield "targets" if len(data.targets) > 1 else "target", f"{', '.join(data.targets)} ({data.task})"
    for what, name in (("person", data.subject_id), ("client", data.client)):
        if name is not None:
            yield what, name


def _stages(composed: Composed, header: "Header") -> Iterator[tuple[str, str]]:
    from runner.alone import alone
    from runner.plan_minimization import aim_of

    config: Any = composed.config
    data, single = config.dataset, alone(config)
    train = train_rows(header.rows, data.split.test)
    k, _ = asked_k(config.anonymization)
    trains = getattr(type(config.model), "trains", True)
    modelled, anonymised = config.model.name != ABSENT, config.anonymization.name != ABSENT
    steps = [("dataset", f"read and check every cell; rows with missing cells: {data.missing.rows}")]
    kept = "about" if data.missing.rows == "keep" else "at most"
    steps.append(("split", f"{kept} {train:,} rows to train on, {header.rows - train:,} to test on"))
    if modelled:
        steps.append(("model", f"{_described(config.model)}: {'fit on the train rows' if trains else 'comes trained'}"))
    if anonymised:
        whose = "the train rows" if data.split.test else "all rows"
        bound = f"; k={k} allows at most {train // k:,} classes" if k else ""
        each = "" if single else "; each client its own, on levels that all agree on"
        steps.append(("anonymization", f"{_described(config.anonymization)}: of {whose}{bound}{each}"))
    if modelled and anonymised and trains:
        steps.append(("retraining", f"{config.model.name} anew, on the release alone"))
    if not single:
        from runner.plan_federation import described

        scenarios = None if config.comparison is None else config.comparison.scenarios
        steps.append(("federation", described(config.federation, config.dp, scenarios)))
    aim = aim_of(composed, header.rows)
    idle = getattr(aim, "reason", "")
    if not idle:
        steps.append(("minimization", f"{_described(config.minimization)}: {aim}"))
    if config.risk.name != ABSENT:
        steps.append(("risk", _described(config.risk)))
    if modelled:
        steps.append(("assessment", "every model on raw test rows, beside the lines constant and linear"))
    yield from ((f"{number} {name}", about) for number, (name, about) in enumerate(steps, start=1))
    own = {"dp"} if config.comparison is not None else set()  # each scenario has its own
    absent = {name: "" for name in SECTIONS if getattr(config, name).name == ABSENT and name not in own}
    if single:
        absent |= {name: f" ({single})" for name in ("federation", "dp") if name not in absent}
    if idle and "minimization" not in absent:
        absent["minimization"] = f" ({idle})"
    yield "skipped", ", ".join(f"{name}{absent[name]}" for name in SECTIONS if name in absent) or "nothing"


def _described(section: Declaration) -> str:
    return f"{section.name}{_parameters(section)}"


def _parameters(section: Any) -> str:
    """Return the parameters of a component as they'd be typed, lists by their entries' names."""
    settings = section.model_dump(exclude={"name"})
    shown = []
    for name, value in settings.items():
        if isinstance(value, list):
            listed_ones = [entry.get("name", "...") if isinstance(entry, dict) else str(entry) for entry in value]
            shown.append(f"{name}=[{', '.join(listed_ones)}]")
        else:
            shown.append(f"{name}={value if isinstance(value, str) else json.dumps(value)}")
    return f" ({', '.join(shown)})" if shown else ""


def _writing(composed: Composed, header: "Header") -> Iterator[tuple[str, str]]:
    from runner.alone import alone
    from runner.plan_minimization import aim_of

    config = composed.config
    parts = ["record.json, config.yaml, events.jsonl, metrics.csv"]
    if config.anonymization.name != ABSENT:
        parts.append("data/ (the release, CSV and Parquet), anonymization/")
    if config.model.name != ABSENT:
        parts.append("model/")
    if not alone(config):
        parts.append("federation/ (messages, rounds, drift), ledger.csv")
    if not getattr(aim_of(composed, header.rows), "reason", ""):
        parts.append("minimization/ (what to ask, and how that was found)")
    yield "writes", f"{composed.base / config.output.dir / config.name}/<UTC time>-<id>/: {', '.join(parts)}"


def _settings(composed: Composed) -> Iterator[tuple[str, str]]:
    yield "settings", ", ".join(f"{group}={option}" for group, option in composed.choices.items())
    if composed.overrides:
        yield "overrides", " ".join(composed.overrides)
    for plugin in composed.plugins:
        yield "plugin", f"{plugin.kind} {plugin.name} of {plugin.distribution} {plugin.version}"


def _source(composed: Composed) -> str:
    source = composed.config.dataset.source
    return mask(str(getattr(source, "path", "") or source.name), composed.secrets)
