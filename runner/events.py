"""events.jsonl: one line per event, each with the hash of the line before, so that an edit shows."""

from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from pydantic import ValidationError

from runner import canonical
from schemas.faults import DataError, Fault
from schemas.record import Event

FIRST = "0" * 64
"""What the first line gives as the hash of the line before."""


def utc_now() -> str:
    """Return the time in UTC, ISO 8601 to the microsecond."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class EventLog:
    """Writes the event chain of one run.

    Parameters
    ----------
    path : Path
        The file; it must not exist.
    mask : callable, optional
        Applied to every text among the facts: hides secrets.
    """

    def __init__(self, path: Path, mask: Callable[[str], str] = str) -> None:
        self._file = path.open("xb", buffering=0)
        self._mask = mask
        self._previous = FIRST
        self._sequence = 0

    def write(self, event: str, stage: str = "", **facts: object) -> None:
        """Append one event. It is with the operating system when this returns.

        Parameters
        ----------
        event : str
            What happened.
        stage : str, optional
            Where; empty for the run as a whole.
        **facts : object
            Counts and names by contract, never cell values.
        """
        entry = Event(
            sequence=self._sequence + 1,
            time=utc_now(),
            event=event,
            stage=stage,
            facts=canonical.map_text(canonical.plain(facts), self._mask),
            previous=self._previous,
        )
        line = canonical.dumps(entry)
        self._file.write(line + b"\n")
        self._previous = sha256(line).hexdigest()
        self._sequence += 1

    def close(self) -> None:
        """Close the file; may be called again."""
        self._file.close()


def read_chain(path: Path) -> tuple[Event, ...]:
    """Read an event file and check its chain.

    Returns
    -------
    tuple of Event

    Raises
    ------
    DataError
        Naming the first line that can't be read, is out of sequence, does not continue the line before or is cut off.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(Fault(path.name, f"can't be read ({type(error).__name__})")) from None
    lines = content.split(b"\n")
    if lines.pop():
        raise DataError(_broken(path, len(lines) + 1, "is cut off"))
    events: list[Event] = []
    previous = FIRST
    for number, line in enumerate(lines, start=1):
        try:
            event = Event.model_validate(canonical.loads(line))
        except (ValueError, ValidationError, RecursionError):
            raise DataError(_broken(path, number, "is no event")) from None
        if event.sequence != number:
            raise DataError(_broken(path, number, f"has sequence number {event.sequence}"))
        if event.previous != previous:
            raise DataError(_broken(path, number, "does not carry the hash of the line before"))
        previous = sha256(line).hexdigest()
        events.append(event)
    return tuple(events)


def _broken(path: Path, number: int, problem: str) -> Fault:
    return Fault(f"{path.name}, line {number}", problem, remedy="the file was changed or damaged since it was written")
