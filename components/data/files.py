"""Input files: found, opened, hashed while they are read, and told apart by their first bytes."""

import io
import stat
from hashlib import sha256
from pathlib import Path
from typing import Any

from schemas.faults import DataError, Fault

SIGNATURES: tuple[tuple[bytes, str, str], ...] = (
    (b"PK\x03\x04", "an Excel workbook or another zip archive", "set dataset.source.name=excel, or unpack it"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook (.xls)", "save it as .xlsx and set dataset.source.name=excel"),
    (b"PAR1", "a Parquet file", "set dataset.source.name=parquet"),
    (b"SQLite format 3", "an SQLite database", "set dataset.source.name=sql"),
)

NOT_FOUND = "not found"


def located(path: str, base: Path) -> Path:
    """Return the file that `path` names.

    Parameters
    ----------
    path : str
        Relative to `base`, or absolute.
    base : Path
        The folder that the command was started in.

    Raises
    ------
    DataError
        When nothing is there, or something that is no file.
    """
    found = base / path
    problem = no_file(found)
    if problem == NOT_FOUND:
        raise DataError(
            Fault(f"file '{path}'", NOT_FOUND, f"looked in {base}", "set dataset.source.path to an existing file")
        )
    if problem:
        raise DataError(Fault(f"file '{path}'", problem, "a single file is read", "name the file itself"))
    return found


def no_file(path: Path) -> str:
    """Say why a path names no file that can be read to its end; nothing where it names one.

    A named pipe or a device is none: whoever opens it may wait for ever.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a path that no file can have
        return NOT_FOUND
    except OSError as error:
        return f"can't be read: {error.strerror or type(error).__name__}"
    if stat.S_ISREG(mode):
        return ""
    return "is a folder" if stat.S_ISDIR(mode) else "is no regular file"


class HashedFile(io.RawIOBase):
    """A file's bytes, read once from start to end and hashed on the way: the digest is of what was really read.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    size : int
        Bytes read so far.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self._digest = sha256()
        self.size = 0

    def readable(self) -> bool:
        """Return True: bytes are read, never written."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read into `buffer`, hashing what comes; 0 at the end."""
        view = memoryview(buffer)
        count = self._file.readinto(view) or 0
        self._digest.update(view[:count])
        self.size += count
        return count

    def finish(self) -> str:
        """Read what is left and return the SHA-256 of the whole file."""
        while self.read(1 << 20):
            pass
        return self._digest.hexdigest()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def facts(path: Path) -> tuple[int, str]:
    """Return size in bytes and SHA-256 of a file, read in pieces."""
    with HashedFile(path) as file:
        digest = file.finish()
        return file.size, digest


def unreadable(path: str, error: OSError) -> DataError:
    """Translate an operating system's refusal, by its own words but not its paths."""
    return DataError(Fault(f"file '{path}'", f"can't be read: {error.strerror or type(error).__name__}"))


NO_ROWS = "0 rows; k undefined"
"""What is wrong with a table without rows."""


def no_rows(place: str) -> DataError:
    """Return the error for a table without rows."""
    return DataError(Fault(place, NO_ROWS, "at least one row below the header"))
