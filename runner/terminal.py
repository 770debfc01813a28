"""What a run says on the terminal: its stage while it works, a dozen lines at most when it is done."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from runner.outcome import say
from schemas.dataset import DatasetSchema
from schemas.tables import Metric

WIDTH = 13


class Screen:
    """Shows which stage a run is in. Says nothing where standard error is no terminal, or one that is gone."""

    def __init__(self, progress: Progress, stages: int) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=stages)

    def stage(self, name: str) -> None:
        """Say that a stage begins."""
        with suppress(OSError):
            self._progress.update(self._task, description=name)

    def done(self) -> None:
        """Say that the stage is over, or was skipped."""
        with suppress(OSError):
            self._progress.advance(self._task)


@contextmanager
def screen(stages: int) -> Iterator[Screen]:
    """Show the progress of a run of so many stages until the end of the block."""
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn(f"{{task.description:<{WIDTH + 2}}}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with suppress(OSError):
        progress.start()
    try:
        yield Screen(progress, stages)
    finally:
        with suppress(OSError):
            progress.stop()


class Figures:
    """The figures of a run, as the closing lines ask for them."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._found = {(m.stage, m.metric, m.scope, m.column, m.split, m.when): m.value for m in metrics}

    def privacy(self, metric: str, pattern: str) -> str:
        """Return ``before -> after`` of a figure of the whole release."""
        values = [self._found.get(("anonymization", metric, "", "", "", when)) for when in ("before", "after")]
        return " -> ".join(pattern.format(value) for value in values if value is not None)

    def before(self, metric: str) -> float | None:
        """Return a figure of the whole table that was anonymised."""
        return self._found.get(("anonymization", metric, "", "", "", "before"))

    def after(self, metric: str) -> float | None:
        """Return a figure of the whole release."""
        return self._found.get(("anonymization", metric, "", "", "", "after"))

    def models(self, metric: str, scopes: Sequence[str]) -> dict[str, float]:
        """Return a figure on test rows by scope, where it is known."""
        values = {scope: self._found.get(("model", metric, scope, "", "test", "")) for scope in scopes}
        return {scope: value for scope, value in values.items() if value is not None}


def summary(
    *,
    dataset: DatasetSchema,
    rows: int,
    test: int,
    metrics: Sequence[Metric],
    how: Sequence[tuple[str, str]] = (),
    warnings: Sequence[str] = (),
) -> list[str]:
    """Return the closing lines of a run: what changed, and against which reference lines.

    Parameters
    ----------
    dataset : DatasetSchema
    rows, test : int
        Rows used, and those of them held out for testing.
    metrics : sequence of Metric
    how : sequence of (str, str)
        What is to be said of the way a release was made, and of what is collected of a person.
    warnings : sequence of str
        The first is shown, of the others how many there are.
    """
    figures = Figures(metrics)
    kind = "synthetic data" if dataset.synthetic else "data"
    lines = [("dataset", f"{dataset.name} ({kind}), {rows:,} rows, {test:,} of them held out for testing")]
    if k := figures.privacy("k", "{:.0f}"):
        lines.append(("k", f"{k}   (classes {figures.privacy('classes', '{:,.0f}')})"))
        risks = {name: figures.privacy(f"risk_prosecutor_{name}", "{:.3g}") for name in ("max", "mean")}
        lines.append(("risk", f"{risks['max']} at most, {risks['mean']} on average (prosecutor)"))
    suppressed = figures.after("suppressed")
    if suppressed is None:  # nothing is released otherwise than it was: a table may hold suppressed rows of its own
        suppressed = figures.before("suppressed") or None
    if suppressed is not None:
        lines.append(("suppressed", f"{suppressed:,.0f} of {figures.before('rows') or 0:,.0f} rows"))
    lines += how
    for metric in ("accuracy", "r2"):
        if reached := figures.models(metric, ("original", "anonymized", "federated", "minimized")):
            shown = " -> ".join(f"{value:.3f} {scope}" for scope, value in reached.items())
            lines.append((metric, f"{shown}   (test rows, {_learned(dataset, metric)})"))
            lines += [
                ("", f"reference lines: {', '.join(f'{value:.3f} {scope}' for scope, value in references.items())}")
                for references in [figures.models(metric, ("constant", "linear"))]
            ]
    if warnings:
        more = f"   ({len(warnings) - 1} more in record.json)" if len(warnings) > 1 else ""
        lines.append(("warning", f"{warnings[0]}{more}"))
    return [f"{name:<{WIDTH}}{text}" for name, text in lines]


def _learned(dataset: DatasetSchema, metric: str) -> str:
    """Say what a figure is about; of several targets it is the one of all together."""
    if len(dataset.targets) == 1:
        return f"target {dataset.targets[0]}"
    return f"{'all' if metric == 'accuracy' else 'mean'} of {len(dataset.targets)} targets"


def close(lines: Sequence[str], folder: Path) -> None:
    """Print the closing lines and, last, the run folder."""
    say("\n".join([*lines, f"{'run folder':<{WIDTH}}{folder}", ""]))
