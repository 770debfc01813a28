"""The door: ``python -m runner`` and the console script ``privacy-runner``.

Only the standard library is imported before our own packages are claimed: a folder that has packages called
``conf``, ``schemas`` or ``components`` of its own must not take their place.
"""

import importlib.util
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
OURS = ("runner", "schemas", "components")
INTERRUPTED = 130


def claim(root: Path = ROOT) -> None:
    """Load our top-level packages from `root`, whatever the search path would find first.

    Nothing is put on the search path: where we are installed, other distributions' files lie beside ours.
    """
    for name in OURS:
        file = root / name / "__init__.py"
        loaded = sys.modules.get(name)
        if loaded is not None and loaded.__file__ and Path(loaded.__file__).resolve() == file:
            continue
        for other in [module for module in sys.modules if module.startswith(f"{name}.") and name != "runner"]:
            del sys.modules[other]
        spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=[str(file.parent)])
        if spec is None or spec.loader is None:
            raise ImportError(f"{name} is missing beside {Path(__file__).name}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Without the program's name; ``sys.argv[1:]`` unless given.

    Returns
    -------
    int
        0 done, 2 configuration, 3 data or schema, 4 a goal was not reached, 5 internal, 130 interrupted.
    """
    claim()
    from runner.cli import command

    return command(list(sys.argv[1:] if argv is None else argv))


def door() -> NoReturn:
    """Run the process's own command line and leave with its exit code, whatever signals come on the way."""
    code = INTERRUPTED
    # In the first moments, and when a second signal comes while the first is being answered.
    with suppress(KeyboardInterrupt):
        claim()
        from runner.interrupts import interruptible

        with interruptible() as interrupts:
            try:
                with interrupts.heeded():
                    code = main()
            finally:
                interrupts.over = True
    sys.exit(code)


if __name__ == "__main__":
    # With -m Python puts the current folder first; anything in it could pass for a library.
    if not sys.flags.safe_path and sys.path and Path(sys.path[0] or ".").resolve() == Path.cwd() != ROOT:
        del sys.path[0]
    door()
