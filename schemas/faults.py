"""What can be wrong, said in one form, and the exceptions that carry it.

::

    RunnerError
     +-- ConfigurationError   exit 2   the configuration
     +-- DataError            exit 3   the data or its schema
     +-- GoalError            exit 4   a privacy or accuracy goal was not reached

Anything else that escapes is an internal error (exit 5).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong.

    Parameters
    ----------
    place : str
        Where: a config path (``anonymization.k``), a column (``column 'age'``), a file.
    problem : str
        What is wrong, without any cell value.
    allowed : str, optional
        What would have been right.
    remedy : str, optional
        One thing to do about it.
    source : str, optional
        The file or the override that the faulty setting came from.
    values : str, optional
        Detail that holds cell values. Printed on the terminal alone, and only with ``show_values=true``;
        never part of the sentence, never written to a file.
    rows : tuple of int, optional
        Every data row that is meant, from 1 below the header; the sentence names the first ten. May be written out.
    """

    place: str
    problem: str
    allowed: str = ""
    remedy: str = ""
    source: str = ""
    values: str = ""
    rows: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Return the fault as one sentence: place, problem, what is allowed, one remedy."""
        where = f"{self.place} ({self.source})" if self.source else self.place
        rest = "; ".join(part for part in (self.problem, self.allowed, self.remedy) if part)
        return f"{where}: {rest}"


class RunnerError(Exception):
    """An outcome that was foreseen: one or more faults, told together.

    Parameters
    ----------
    faults : Fault or iterable of Fault
        All that was found, in the order found.
    """

    exit_code: ClassVar[int] = 5

    def __init__(self, faults: Fault | Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = (faults,) if isinstance(faults, Fault) else tuple(faults)
        if not self.faults:
            raise ValueError("an error needs at least one fault")
        super().__init__("\n".join(str(fault) for fault in self.faults))


class ConfigurationError(RunnerError):
    """The configuration is wrong; nothing was started."""

    exit_code = 2


class DataError(RunnerError):
    """The data do not fit their schema, or can't be read."""

    exit_code = 3


class GoalError(RunnerError):
    """A goal that was asked for can't be, or was not, reached."""

    exit_code = 4
