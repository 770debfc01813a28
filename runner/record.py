"""The record: built from what a run knows, sealed with its own digest, read back with every check it allows."""

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import rfc8785
from pydantic import ValidationError

from runner import canonical
from runner.environment import ROOT, code_facts, environment_facts
from schemas.dataset import DatasetSchema
from schemas.faults import DataError, Fault, RunnerError
from schemas.record import SCHEMA_VERSION, Record

RECORD = "record.json"
SEAL = "record_sha256"
UNSEALED = "0" * 64

WITH_SECRETS = (
    "error",
    "agent",
    "invocation",
    "configuration",
    "dataset",
    "protection",
    "anonymization",
    "minimization",
    "differential_privacy",
    "federation",
    "warnings",
    "limits",
)
"""Sections that hold text of the user's. The others hold names and digests of ours, which a mask would only break."""


def opening(  # noqa: PLR0913  # one argument a fact; all are needed from the start
    *,
    seed: int,
    dataset: DatasetSchema,
    resolved: Mapping[str, Any],
    as_written: str,
    argv: Sequence[str] = (),
    overrides: Sequence[str] = (),
    choices: Mapping[str, str] | None = None,
    files: Iterable[tuple[str, str]] = (),
    plugins: Iterable[Mapping[str, str | None]] = (),
    streams: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return the sections of the record that are known before the first stage.

    Parameters
    ----------
    seed : int
        Root seed.
    dataset : DatasetSchema
    resolved : mapping
        The composed configuration, resolved; its ``protection`` section becomes fields 2 and 9. Secrets may stand in
        it: the mask is applied when the record is written.
    as_written : str
        The composed configuration before interpolation, as YAML.
    argv, overrides : sequences of str
    choices : mapping
        Chosen option by group.
    files : iterable of (path, sha256)
        Source files of the configuration.
    plugins : iterable of mappings
        `components.brought.Brought`, as a mapping, of each component that came from elsewhere.
    streams : mapping
        Derived seed by purpose.

    Returns
    -------
    dict
    """
    declared = dict(resolved.get("protection") or {})
    return {
        "agent": {"responsible": declared.pop("responsible", None)},
        "invocation": {
            "argv": list(argv),
            "overrides": list(overrides),
            "choices": dict(choices or {}),
            "files": [{"path": path, "sha256": digest} for path, digest in files],
            "plugins": [dict(plugin) for plugin in plugins],
        },
        "configuration": {"resolved": dict(resolved), "as_written": as_written},
        "code": code_facts(),
        "environment": environment_facts(),
        "randomness": {"seed": seed, "streams": dict(streams or {})},
        "dataset": {
            "name": dataset.name,
            "synthetic": dataset.synthetic,
            "schema_sha256": schema_digest(dataset),
        },
        "protection": declared,
    }


def schema_digest(dataset: DatasetSchema) -> str:
    """Return the digest of a dataset schema without its source.

    What the columns are does not depend on where files lie; and a source can hold a password, of which no record
    should give a digest.
    """
    elsewhere = {"source", "hierarchies", "population"}
    return canonical.digest(
        {name: getattr(dataset, name) for name in DatasetSchema.model_fields if name not in elsewhere}
    )


def reading_sections(reading: Any, beside: Iterable[Any] = ()) -> dict[str, Any]:
    """Return the sections of the record that a reading decides: inputs, checks, warnings, rows and columns in.

    Parameters
    ----------
    reading : components.data.Reading
    beside : iterable of components.data.InputFact, optional
        What was read beside the table.

    Returns
    -------
    dict
        To be given to `runner.recording.Run.note`.
    """
    checks = ({**canonical.plain(check), "table": "input"} for check in reading.checks)
    columns = [*reading.table.frame.columns, *reading.dropped_columns]
    return {
        "dataset": {"inputs": [*reading.inputs, *beside], "missing": reading.missing},
        "flow": {
            "rows_in": sum(item.rows or 0 for item in reading.inputs),
            "dropped_rows": reading.dropped_rows,
            "columns_in": list(dict.fromkeys(columns)),
            "dropped_columns": reading.dropped_columns,
        },
        "validation": list(checks),
        "warnings": list(reading.notes),
    }


def describe(error: BaseException, stage: str | None) -> dict[str, Any]:
    """Return what a record may say of an error.

    The sentences of a `RunnerError` hold no cell values and stand as they are. Any other exception may hold one in its
    message: type and frames are kept, the message is withheld.

    Parameters
    ----------
    error : BaseException
    stage : str or None
        The stage that it happened in.
    """
    kind = type(error)
    if isinstance(error, RunnerError):
        message = "\n".join(str(fault) for fault in error.faults)
    elif isinstance(error, KeyboardInterrupt):
        message = "stopped by the user or the system"
    else:
        message = None
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    frames = [
        f"{_short(frame.f_code.co_filename)}:{line} {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    return {"type": name, "message": message, "stage": stage, "frames": frames}


def _short(filename: str) -> str:
    """Return a source file's name without the folders that are the machine's or the user's."""
    _, found, inside = filename.rpartition("site-packages/")
    if found:
        return inside
    path = Path(filename)
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def seal(sections: Mapping[str, Any], mask: Callable[[str], str] = str) -> bytes:
    """Build one record (see `Sealer`)."""
    return Sealer(mask)(sections)


class Sealer:
    """Builds the record of a run, as often as it grows: what stays the same object is put into bytes once.

    Parameters
    ----------
    mask : callable, optional
        Hides secrets in a text.
    """

    def __init__(self, mask: Callable[[str], str] = str) -> None:
        self._mask = _sparing_digests(mask)
        self._bare: dict[str, tuple[Any, Any]] = {}
        self._bytes: dict[str, tuple[Any, bytes]] = {}

    def __call__(self, sections: Mapping[str, Any]) -> bytes:
        """Mask secrets, add the digests of configuration and record, validate.

        Parameters
        ----------
        sections : mapping
            Fields of `schemas.record.Record` without the version and the digests. One that is given again has to be
            what it was.

        Returns
        -------
        bytes
            The content of record.json, in canonical form.

        Raises
        ------
        pydantic.ValidationError
            When a section is not what the schema says: a mistake in the code.
        """
        record = {name: self._prepared(name, section) for name, section in sections.items()}
        record |= {"schema_version": SCHEMA_VERSION, SEAL: UNSEALED}
        valid = Record.model_validate(record)
        parts = {  # fields left out stand in the file, too
            name: self._dumped(name, record.get(name), getattr(valid, name))
            for name in Record.model_fields
            if name != SEAL
        }
        digest = sha256(canonical.joined(parts)).hexdigest()
        return canonical.joined(parts | {SEAL: rfc8785.dumps(digest)})

    def _prepared(self, name: str, section: Any) -> Any:
        """Return a section as plain values without secrets."""
        given, bare = self._bare.get(name, (None, None))
        if section is None or given is not section:
            bare = canonical.plain(section)
            if name in WITH_SECRETS:
                bare = canonical.map_text(bare, self._mask)
            if name == "configuration":
                bare["sha256"] = canonical.digest(bare["resolved"])
            self._bare[name] = (section, bare)
        return bare

    def _dumped(self, name: str, bare: Any, field: Any) -> bytes:
        """Return a field of the checked record in canonical form; `bare` is what it was made of."""
        known, content = self._bytes.get(name, (None, b""))
        if bare is None or known is not bare:
            content = canonical.dumps(field)
            self._bytes[name] = (bare, content)
        return content


def _sparing_digests(mask: Callable[[str], str]) -> Callable[[str], str]:
    digits = frozenset("0123456789abcdef")
    return lambda text: text if len(text) == 64 and digits.issuperset(text) else mask(text)


def read_record(path: Path) -> Record:
    """Read a record and hold it against its schema, its canonical form and its own digest.

    Parameters
    ----------
    path : Path
        A record.json, or the run folder that holds it.

    Raises
    ------
    DataError
        When it is missing, unreadable, of another version, not what the schema says, or changed since it was sealed.
    """
    file = path / RECORD if path.is_dir() else path
    try:
        content = file.read_bytes()
    except OSError as error:
        problem = "is missing" if isinstance(error, FileNotFoundError) else f"can't be read ({type(error).__name__})"
        raise DataError(Fault(str(file), problem)) from None
    try:
        parsed = canonical.loads(content)
    except (ValueError, RecursionError):
        raise DataError(Fault(str(file), "is no JSON")) from None
    version = parsed.get("schema_version") if isinstance(parsed, dict) else None
    if version != SCHEMA_VERSION:
        allowed = f"this version of the runner reads {SCHEMA_VERSION}"
        raise DataError(Fault(str(file), "is no record, or one of another schema version", allowed))
    try:
        record = Record.model_validate(parsed)
    except ValidationError as error:
        raise DataError(_schema_faults(file, error)) from None
    unsealed = {key: value for key, value in parsed.items() if key != SEAL}
    if canonical.digest(unsealed) != record.record_sha256 or canonical.dumps(parsed) != content:
        raise DataError(Fault(str(file), "was changed since the run wrote it: it does not match its own digest"))
    return record


def _schema_faults(file: Path, error: ValidationError) -> list[Fault]:
    return [
        Fault(f"{file}, {'.'.join(str(part) for part in item['loc']) or 'as a whole'}", str(item["msg"]))
        for item in error.errors(include_input=False, include_url=False)
    ]
