"""Sweeps: Hydra's sweeper and launcher, with every choice checked first and nothing of Hydra's left behind."""

import sys
from dataclasses import dataclass, field
from itertools import islice
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory

from hydra._internal.hydra import Hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from runner import overrides
from runner.commandline import Command
from runner.compose import Composed, compose_run, masked
from runner.explain import explained
from runner.options import Options, find_options
from runner.outcome import INTERRUPTED, guarded, say
from runner.secrets import mask, secrets, secrets_in
from schemas.faults import ConfigurationError, Fault

OURS = ("hydra.mode=MULTIRUN", "hydra.sweep.subdir=.", "hydra.output_subdir=null", "hydra.job.chdir=false")
"""Laid over whatever else is said about Hydra: the runner owns folders and working directory."""


MOST_JOBS = 10_000
"""Each choice is checked before any job starts, a fraction of a second each."""


@dataclass
class Sweep:
    """A checked sweep: what was typed, and what came of the jobs so far.

    Parameters
    ----------
    asked : Command
    options : Options
    read : list of Override
        The overrides, sweeps over several values among them.
    first : Composed
        The job of all first choices.
    """

    asked: Command
    options: Options
    read: list[Override]
    first: Composed
    codes: list[int] = field(default_factory=list)

    @property
    def prefixes(self) -> dict[str, str]:
        """How the key of each override was typed: plain, or with one or two signs to add it."""
        return {
            one.key_or_group: "++" if one.is_force_add() else "+" if one.is_add() else ""
            for one in self.read
            if self.is_forced(one)
        }

    def is_forced(self, override: Override) -> bool:
        """Tell whether Hydra must be made to take an override: that of a key that the files may not write out.

        Whether the key is one at all is for each job to say; a sweep must not end over one of its jobs.
        """
        group = self.options.is_group(override.key_or_group)
        return not (group or override.is_delete() or override.is_hydra_override())

    def typed(self, text: str) -> str:
        """Return a job's override as it would have been typed."""
        key = text.lstrip("+").partition("=")[0]
        return self.prefixes[key] + text.lstrip("+") if key in self.prefixes else text


def sweep(asked: Command) -> int:
    """Check a sweep, then plan or run its jobs one by one.

    Parameters
    ----------
    asked : Command

    Returns
    -------
    int
        The worst job's exit code.

    Raises
    ------
    ConfigurationError
        A choice is faulty; nothing was started.
    """
    checked = _checked(asked)
    if asked.verb == "plan":
        with TemporaryDirectory(prefix="runner-sweep-") as scratch:
            return _launch(checked, None, scratch)
    from runner.folder import new_sweep

    config = checked.first.config
    folder = new_sweep(checked.first.base / config.output.dir, config.name)
    # Hydra writes the sweep's overrides there, secrets and all.
    with TemporaryDirectory(prefix="runner-sweep-") as scratch:
        worst = _launch(checked, folder, scratch)
    failed = sum(code != 0 for code in checked.codes)
    say(f"sweep folder {folder}\n{len(checked.codes)} job{'s' if len(checked.codes) != 1 else ''}, {failed} failed\n")
    return worst


def _checked(asked: Command) -> Sweep:
    """Check each choice of each override, with the others at their first choice."""
    read, faults = overrides.parse(list(asked.overrides))
    options = find_options(asked.flags.config_dir, asked.flags.config_name)
    lists, empty = _choices([*_params(read, options), *read], options)
    faults += empty
    if (number := prod(map(len, lists))) > MOST_JOBS:
        problem = f"the sweep has {number:,} jobs or more" if number < MOST_JOBS**2 else "the sweep has too many jobs"
        raise ConfigurationError(Fault("sweep", problem, f"at most {MOST_JOBS:,}", "part it into smaller sweeps"))
    base = [values[0] for values in lists]
    jobs = [base]
    for place, values in enumerate(lists):
        jobs += [[*base[:place], value, *base[place + 1 :]] for value in values[1:]]
    first: Composed | None = None
    for job in jobs:
        try:
            made = compose_run(job, asked.flags.config_dir, asked.flags.config_name)
        except ConfigurationError as error:
            faults += error.faults
        else:
            first = first or made
    if faults or first is None:
        # One fault of a key that is swept over shows in each of its choices.
        once = {(fault.place, fault.problem, fault.allowed): fault for fault in reversed(faults)}
        raise ConfigurationError(masked([*reversed(once.values())], secrets_in({}, {}, asked.overrides)))
    return Sweep(asked, options, read, first)


def _choices(every: list[Override], options: Options) -> tuple[list[list[str]], list[Fault]]:
    """Return the choices that each override stands for, and a fault for each that stands for none."""
    lists: list[list[str]] = []
    faults: list[Fault] = []
    for override in every:
        override.config_loader = options.loader
        key, text = override.key_or_group, str(override.input_line)
        if override.is_interval_sweep():
            faults.append(Fault(key, "an interval can't be gone through", "choice(...) or range(...)", source=text))
        elif found := list(islice(overrides.choices(override), MOST_JOBS + 1)):
            lists.append(found)
        else:
            faults.append(Fault(key, "stands for no choice at all", source=text))
    return lists, faults


def _params(read: list[Override], options: Options) -> list[Override]:
    """Return the overrides that the sweeper adds of itself: ``hydra.sweeper.params`` of the files."""
    groups = [str(one.input_line) for one in read if not one.is_sweep_override() and not one.is_delete()]
    chosen = [text for text in groups if options.is_group(text.lstrip("+").partition("=")[0])]
    try:
        config = options.compose(chosen, RunMode.MULTIRUN)
    except (HydraException, ValueError, OSError):
        return []  # said with the faults of the jobs
    params = OmegaConf.select(config, "hydra.sweeper.params") or {}
    given = {one.get_key_element() for one in read}
    added, _ = overrides.parse([f"{key}={value}" for key, value in params.items()])
    return [one for one in added if one.get_key_element() not in given]


def _launch(checked: Sweep, folder: Path | None, scratch: str) -> int:
    """Have Hydra launch the jobs; return the worst exit code."""

    def task(_: DictConfig) -> int:
        hydra = HydraConfig.get()
        code = _job(checked, [checked.typed(text) for text in hydra.overrides.task], int(hydra.job.num), folder)
        checked.codes.append(code)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        return code

    texts = [overrides.forced(one) if checked.is_forced(one) else str(one.input_line) for one in checked.read]
    ours = [*OURS, f"hydra.sweep.dir={overrides.in_quotes(scratch)}"]
    try:
        hydra = Hydra.create_main_hydra2("runner", checked.options.loader.config_search_path)
        hydra.multirun(checked.options.primary, task, [*texts, *ours])
    except HydraException as error:
        raise ConfigurationError(masked([explained(error, checked.options)], checked.first.secrets)) from None
    finally:
        GlobalHydra.instance().clear()
    return max(checked.codes, default=0)


def _job(checked: Sweep, typed: list[str], number: int, folder: Path | None) -> int:
    """Do one job; whatever goes wrong is told and becomes its exit code, so that the others go on."""
    flags, told = checked.asked.flags, f"job {number}: "
    shown = mask(" ".join(typed), secrets(checked.first))
    say(f"{told}{shown}\n")
    sys.stdout.flush()

    def act() -> int:
        composed = compose_run(typed, flags.config_dir, flags.config_name)
        config = composed.config
        return guarded(
            lambda: _done(composed, folder, number),
            debug=config.debug,
            show_values=config.show_values,
            prefix=told,
            secrets=composed.secrets,
        )

    return guarded(act, prefix=told)


def _done(composed: Composed, folder: Path | None, number: int) -> int:
    if folder is None:
        from runner.plan import plan

        return plan(composed)
    from runner.pipeline import run_job

    return run_job(composed, folder, number)
