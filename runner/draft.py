"""Composing: from overrides to one tree, with all that is wrong with the command line found on the way."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl, get_overrides_dirname
from hydra._internal.defaults_list import DefaultsList
from hydra.core.override_parser.types import Override, OverrideType
from omegaconf import DictConfig, OmegaConf

from runner import keys, overrides
from runner.explain import explained, first_line
from runner.options import COMPOSING, Options, find_options
from runner.provenance import Layer, choices, files, layers
from runner.suggest import did_you_mean, nearest
from runner.tree import clash, get
from schemas.faults import ConfigurationError, Fault

DECIDING = frozenset({"dataset", "model", "anonymization", "federation"})
"""Groups whose choice, without an experiment, gives up the default one as a whole."""

TAKEN_OVER = {
    "hydra.run": "set output.dir and name",
    "hydra.sweep": "set output.dir and name",
    "hydra.output_subdir": "set output.dir and name",
    "hydra.job.chdir": "start the command in the folder that relative paths are meant from",
    "hydra.job.name": "set name",
    "hydra.sweeper.params": "write the sweep itself: -m key=1,2",
}
"""Settings of Hydra's that the runner takes over, and what does the same here."""


@dataclass
class Draft:
    """A composed tree that is not yet checked against its types.

    Parameters
    ----------
    options : Options
        The options that were there to choose from.
    config : DictConfig
        The tree, Hydra's own section included, made from all overrides that have no fault.
    layers : list of Layer
        The files and overrides it is made of.
    defaults : DefaultsList
        The files and choices.
    faults : list of Fault
        What is wrong with the overrides and files.
    unsure : set of str
        Sections whose option is not the one that was meant: nothing is said about what is inside.
    """

    options: Options
    config: DictConfig
    layers: list[Layer]
    defaults: DefaultsList
    faults: list[Fault] = field(default_factory=list)
    unsure: set[str] = field(default_factory=set)

    def tree(self) -> DictConfig:
        """Return the tree without Hydra's own section."""
        return OmegaConf.masked_copy(self.config, [str(key) for key in self.config if key != "hydra"])

    def choices(self) -> dict[str, str]:
        """Return the option chosen in each group."""
        return choices(self.defaults)

    def chosen(self) -> frozenset[str]:
        """Return the groups that were typed, whole or a setting of theirs, or have another option than the shipped."""
        texts: Any = OmegaConf.to_container(self.config.hydra.overrides.task, resolve=False)
        typed = (str(text).lstrip("+~").partition("=")[0] for text in texts)
        others = {group for group, option in self.choices().items() if self.options.standard.get(group) != option}
        return frozenset({key.partition(".")[0] for key in typed} | others)

    def files(self) -> tuple[Any, ...]:
        """Return the files that took part, with their digests."""
        return files(self.options, self.defaults)


@dataclass
class _Groups:
    """The choices of groups on the command line: those that stand, and what is wrong with the others."""

    chosen: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    unsure: set[str] = field(default_factory=set)


def draft(texts: list[str], config_dir: Any = None, primary: str | None = None) -> Draft:
    """Compose a configuration from overrides.

    Parameters
    ----------
    texts : list of str
        Overrides as typed; none of them a sweep.
    config_dir : str or Path, optional
        The user's own folder of options.
    primary : str, optional
        Configuration to begin with instead of ``config``.

    Returns
    -------
    Draft
        With the faults that were found; a faulty override is left out of the tree.

    Raises
    ------
    ConfigurationError
        Nothing can be composed at all.
    """
    read, faults = overrides.parse(texts)
    read, wide = _single_valued(read)
    faults += wide
    options = find_options(config_dir, primary, _searchpath(read))
    for override in read:
        override.config_loader = options.loader
    groups, values = _sorted(read, options)
    settled = _settle_groups(groups, options)
    if _gives_up_the_usual(groups):
        settled.chosen.append("experiment=none")
    ours, values = _taken_over(values)
    hydras = [str(one.input_line) for one in values if one.is_hydra_override()]
    base, good_groups, broken = _composed(settled.chosen, hydras, options)
    known, unknown = keys.check(base, [one for one in values if not one.is_hydra_override()], settled.unsure, options)
    kept, unfit = _applied(base, known)
    said = [one for one in read if str(one.input_line) in good_groups or one in kept]
    base.hydra.job.override_dirname = get_overrides_dirname(said, **base.hydra.job.config.override_dirname)
    defaults = options.defaults(good_groups)
    taken = [fault for default in defaults.defaults if (fault := options.taken(default.config_path or "")) is not None]
    return Draft(
        options=options,
        config=base,
        layers=layers(options, defaults, kept),
        defaults=defaults,
        faults=[*faults, *ours, *settled.faults, *broken, *unknown, *unfit, *taken],
        unsure=settled.unsure,
    )


def _searchpath(read: list[Override]) -> str:
    found = [str(one.input_line) for one in read if one.key_or_group == "hydra.searchpath"]
    return found[-1] if found else ""


def _single_valued(read: list[Override]) -> tuple[list[Override], list[Fault]]:
    """Part the overrides with one value from those that only a sweep can take."""
    faults = []
    for override in read:
        if override.is_sweep_override():
            key, _, value = str(override.input_line).partition("=")
            text = overrides.quoted(key, value)
            remedy = "add -m (--multirun) to try each" + (f", or quote it to be one text: {text}" if text else "")
            faults.append(Fault(key, "several values in a single run", remedy=remedy, source=str(override.input_line)))
    return [one for one in read if not one.is_sweep_override()], faults


def _sorted(read: list[Override], options: Options) -> tuple[list[Override], list[Override]]:
    groups: list[Override] = []
    values: list[Override] = []
    for override in read:
        whole = not isinstance(override.value(), dict) and options.is_group(override.key_or_group)
        (groups if whole else values).append(override)
    return groups, values


def _gives_up_the_usual(groups: list[Override]) -> bool:
    """Tell whether the experiment that ships as the default gives way: to an option that others of its may not fit."""
    chosen = {override.get_key_element().lstrip("+~") for override in groups}
    return "experiment" not in chosen and bool(chosen & DECIDING)


def _taken_over(values: list[Override]) -> tuple[list[Fault], list[Override]]:
    """Part the overrides that Hydra would take and this runner would leave without effect from the others."""
    faults, left = [], []
    for override in values:
        for prefix, remedy in TAKEN_OVER.items():
            if override.key_or_group == prefix or override.key_or_group.startswith(f"{prefix}."):
                problem = "the runner does this itself; the setting would have no effect"
                faults.append(Fault(override.key_or_group, problem, remedy=remedy, source=str(override.input_line)))
                break
        else:
            left.append(override)
    return faults, left


def _settle_groups(groups: list[Override], options: Options) -> _Groups:
    """Check each choice of a group; where it is faulty the nearest option stands in, so that checking can go on."""
    settled = _Groups()
    standing = _standing(groups, options)
    for override in groups:
        group, text = override.key_or_group, str(override.input_line)
        if override.is_delete():
            _settle_removal(override, options, settled)
            continue
        given = override.value()
        wanted = [str(part) for part in given] if isinstance(given, list) else ["null" if given is None else str(given)]
        fault, stand_in = None, []
        for option in wanted:
            if options.has(group, option):
                stand_in.append(option)
                continue
            similar = nearest(option, options.names(group))
            fault = _unknown_option(group, option, similar, options, text)
            stand_in += [similar] if similar else []
        if fault is None:
            misplaced, right = _sign(override, standing, wanted[0])
            settled.faults += misplaced
            settled.chosen.append(right)
            continue
        settled.faults.append(fault)
        settled.unsure |= {group} if group != "experiment" else (set() if stand_in else set(options.groups()))
        if stand_in:
            settled.chosen.append(f"{group}={stand_in[0]}")
    return settled


def _standing(groups: list[Override], options: Options) -> Collection[str]:
    """Return the groups that have an option already: those of the files, and those that chosen options bring along."""
    if all("/" not in one.key_or_group for one in groups):
        return options.standard.keys()
    tops = [str(one.input_line) for one in groups if one.get_key_element() in options.standard and not one.is_delete()]
    if _gives_up_the_usual(groups):
        tops.append("experiment=none")
    return (options.chosen(tops) or options.standard).keys()  # what can't be composed is told later


def _sign(override: Override, standing: Collection[str], option: str) -> tuple[list[Fault], str]:
    """Check that a choice has a ``+`` where its group has no option yet, and else none; return it put right too."""
    group, text = override.key_or_group, str(override.input_line)
    key = override.get_key_element().lstrip("+")
    chosen = key in standing
    if not standing or (not override.is_force_add() and override.is_add() != chosen):
        return [], text
    right = f"{key}={option}" if chosen else f"+{key}={option}"
    return [Fault(group, "a group is added with one +, and chosen anew without", remedy=right, source=text)], right


def _settle_removal(override: Override, options: Options, settled: _Groups) -> None:
    """Treat ``~group`` as ``group=none`` where there is a none; a section that a run needs can't be removed."""
    group, text = override.key_or_group, str(override.input_line)
    if group.startswith("hydra/"):
        settled.chosen.append(text)
    elif options.has(group, "none"):
        settled.chosen.append(f"{group}=none")
    else:
        allowed = f"one of {', '.join(options.names(group))}"
        settled.faults.append(Fault(group, "this section is required and can't be removed", allowed, source=text))
        settled.unsure.add(group)


def _unknown_option(group: str, option: str, similar: str, options: Options, text: str) -> Fault:
    return Fault(
        place=group,
        problem=f"there is no option {option!r}",
        allowed=f"one of {', '.join(options.names(group))}",
        remedy=did_you_mean(f"{group}={similar}" if similar else ""),
        source=text,
    )


def _composed(groups: list[str], hydras: list[str], options: Options) -> tuple[DictConfig, list[str], list[Fault]]:
    """Compose from choices alone; choices that can't be composed are left out, each with its fault.

    Raises
    ------
    ConfigurationError
        Nothing can be composed, whatever is left out.
    """
    good, faults = [*groups, *hydras], list[Fault]()
    while True:
        cause = _tried(good, options)
        if not isinstance(cause, Fault):
            return cause, good, faults
        fewer = [[one for one in good if one != text] for text in good]
        left = [_tried(some, options) for some in fewer]
        # The culprit is the choice without which all is well, or else without which something else is wrong.
        well = [index for index, outcome in enumerate(left) if not isinstance(outcome, Fault)]
        # A tree is never compared with a fault: OmegaConf would take the fault's own text for interpolations.
        other = [index for index, outcome in enumerate(left) if not isinstance(outcome, Fault) or outcome != cause]
        if not other:
            raise ConfigurationError([*faults, cause])
        culprit = (well or other)[0]
        faults.append(replace(cause, source=cause.source or good[culprit]))
        good = fewer[culprit]


def _applied(base: DictConfig, known: list[Override]) -> tuple[list[Override], list[Fault]]:
    """Set the overridden values in the tree, one by one as Hydra would; return those that fit, and the faults."""
    fitting: list[Override] = []
    faults: list[Fault] = []
    for override in known:
        set_anyway = override if override.is_delete() else replace(override, type=OverrideType.FORCE_ADD)
        try:
            ConfigLoaderImpl._apply_overrides_to_config([set_anyway], base)  # noqa: SLF001
        except COMPOSING as error:
            faults.append(Fault(override.key_or_group, first_line(error), source=str(override.input_line)))
        else:
            fitting.append(override)
    # What Hydra notes of them, for ${hydra:...} to refer to.
    base.hydra.overrides.task.extend([str(override.input_line) for override in fitting])
    return fitting, faults


def _tried(choices: list[str], options: Options) -> DictConfig | Fault:
    try:
        return options.compose(choices)
    except COMPOSING as error:
        return _clash(choices, options) or explained(error, options)


def _clash(choices: list[str], options: Options) -> Fault | None:
    """Return the fault of a file that lays a list over the mapping of another, or a mapping over a list."""
    try:
        found = layers(options, options.defaults(choices), [])
    except COMPOSING:
        return None
    for number, over in enumerate(found):
        for under in reversed(found[:number]):
            path = clash(under.tree, over.tree)
            if path is not None:
                return keys.misshapen(path, get(under.tree, path), "", over.label)
    return None
