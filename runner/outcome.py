"""How a command ends: an exit code, and sentences on standard error."""

import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from runner.interrupts import interruptible
from runner.secrets import mask
from schemas.faults import RunnerError

INTERNAL = 5
INTERRUPTED = 130
ROOT = Path(__file__).resolve().parent.parent
RECORD_NOTE = "the record of this attempt is in"


def guarded(
    act: Callable[[], int],
    *,
    debug: bool = False,
    show_values: bool = False,
    prefix: str = "",
    secrets: Sequence[str] = (),
) -> int:
    """Do something and turn whatever it raises into sentences on standard error and an exit code.

    A signal that comes meanwhile ends it as interrupted, whatever libraries make of it on the way.

    Parameters
    ----------
    act : callable
        Returns an exit code.
    debug : bool, optional
        Show the traceback of what was not foreseen.
    show_values : bool, optional
        Show the cell values of faults that hold some.
    prefix : str, optional
        Said before each sentence, such as the number of a sweep's job.
    secrets : sequence of str, optional
        Texts that no sentence may hold.
    """
    with interruptible() as interrupts:
        try:
            with interrupts.heeded():
                return act()
        except RunnerError as error:
            tell(error, show_values=show_values, prefix=prefix, secrets=secrets)
            _tell_notes(error, prefix)
            return error.exit_code
        except KeyboardInterrupt as error:
            interrupts.answered()
            complain(f"{prefix}interrupted\n")
            _tell_notes(error, prefix)
            return INTERRUPTED
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001  # the last line of defence: nothing may print its message
            if debug:
                complain(mask(traceback.format_exc(), secrets))
            complain(f"{prefix}{internal(error)}\n")
            _tell_notes(error, prefix)
            return INTERNAL


def complain(text: str) -> None:
    """Write to standard error. Where the terminal is gone nobody is told; exit code and record still say it."""
    with suppress(OSError):
        sys.stderr.write(text)


def say(text: str) -> None:
    """Write to standard output. Where it is full or closed nobody can be told; what was done is done all the same."""
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        pass  # whoever was reading has had enough
    except OSError:
        complain("standard output can't be written to\n")


def tell(error: RunnerError, *, show_values: bool = False, prefix: str = "", secrets: Sequence[str] = ()) -> None:
    """Print one line a fault; cell values only on request, and only here."""
    for fault in error.faults:
        complain(f"{prefix}error: {mask(_one_line(str(fault)), secrets)}\n")
        if show_values and fault.values:
            complain(f"{prefix}       {_one_line(fault.values)}\n")


def _tell_notes(error: BaseException, prefix: str) -> None:
    """Print where the record of the attempt is; notes of a library may hold values."""
    for note in getattr(error, "__notes__", ()):
        if note.startswith(RECORD_NOTE):
            complain(f"{prefix}{note}\n")


def internal(error: BaseException) -> str:
    """Return type and place of an unforeseen exception; its message may hold values and is left out."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(ROOT) and ".venv" not in frame.filename]
    frame = (ours or frames)[-1] if frames else None
    file = Path(frame.filename) if frame else None
    if frame is None or file is None:
        return f"internal error: {type(error).__name__}"
    shown = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else file.name
    return f"internal error: {type(error).__name__} in {shown}:{frame.lineno}; debug=true shows more"


def _one_line(text: str) -> str:
    return " ".join(text.split())
