"""What ``--help`` says: one screen."""

import textwrap

from runner.commandline import VERBS
from runner.options import Options

WIDTH = 80
INDENT = 16


def help_text(options: Options, program: str) -> str:
    """Return the help, with the groups and options that there are.

    Parameters
    ----------
    options : Options
    program : str
        How the command was called, such as ``python -m runner``.
    """
    lines = [
        _usage(program, "key=value ...", "one run; without more, the synthetic default"),
        _usage(program, "-m key=1,2 ...", "a sweep: every combination"),
        *(_usage(program, verb, purpose) for verb, purpose in VERBS.items()),
        "",
        "Groups, chosen with group=option (* unless told otherwise):",
        *_groups(options),
        "Any other setting: key=value, such as anonymization.k=10.",
        "  --cfg job [-p model]    the composed settings (-p: one section), not run",
        "  --config-dir DIR        a folder of options of your own: DIR/dataset/x.yaml",
        "  --info --resolve --hydra-help --shell-completion --version: as in Hydra",
        "Exit codes: 0 done, 2 configuration, 3 data, 4 goal, 5 internal, 130 interrupted",
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _usage(program: str, arguments: str, purpose: str) -> str:
    return f"{program} {arguments:<16}{purpose}"


def _groups(options: Options) -> list[str]:
    """Return a line or more for each group; those that hold nothing but ``none`` share one, and so do those within."""
    chosen = options.standard | options.chosen(["experiment=none"])
    chosen |= {"experiment": options.standard.get("experiment", "")}
    lines: list[str] = []
    empty: list[str] = []
    within: dict[str, list[str]] = {}
    for group in options.groups():
        outer, _, inner = group.rpartition("/")
        if outer:
            within.setdefault(outer, []).append(inner)
            continue
        names = options.names(group)
        if names == ["none"]:
            empty.append(group)
            continue
        marked = " ".join(f"{name}*" if name == chosen.get(group) else name for name in names)
        shown = group if group in chosen else f"+{group}"  # what no default names is added with a plus
        lines += textwrap.wrap(
            marked,
            WIDTH,
            initial_indent=f"  {shown:<{INDENT - 3}} ",
            subsequent_indent=" " * INDENT,
            break_on_hyphens=False,
        )
    if within:
        parts = " ".join(f"{outer}/{','.join(inner)}" for outer, inner in within.items())
        lines += textwrap.wrap(f"in {parts}", WIDTH, initial_indent="  ", subsequent_indent="    ")
    if empty:
        lines += textwrap.wrap(f"{', '.join(empty)}: none* so far", WIDTH, initial_indent="  ", subsequent_indent="  ")
    return lines
