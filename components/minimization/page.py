"""``ask.html``: one page, for people, of what needs to be asked, what that keeps, and what it does not say."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import floor
from pathlib import Path
from string import Template

import pandas as pd

from components.minimization.collected import told_as
from schemas.generalizations import Collect, Collected, Generalizations, Verdict

TITLE = "What we need to ask"
HOW: dict[Collect, str] = {"exact": "exactly", "ranges": "a range", "groups": "a group", "nothing": "nothing"}
SUMMED: dict[Collect, str] = {
    "exact": "as they are",
    "ranges": "by range",
    "groups": "by group",
    "nothing": "not at all",
}
"""What is collected, in words: of one attribute, and of so many."""

_PERCENT = "\N{NO-BREAK SPACE}%"
_LIMITS = (
    "Agreement is with the model's own predictions when it knows everything. Whether the model is right is left open.",
    "It is a share over all rows it was judged on: it can be lower for some of them.",
    "It speaks for persons like those, and for this model alone.",
    "Detail lost is no measure of anonymity: ranges and groups together may still single a person out.",
    "That the model needs something does not mean that it may be asked.",
)
_LOST = "Detail lost: 0 % as exact as it is, 100 % nothing is known; of a range its width in the width of all values."
_ASKED_LOST = "Each is asked for as far as it is needed; lost is the share of cases in which it is not asked for."
_CELLS = (
    " The answers together lead to one of {:,} cells, and the model gets that cell's values. Lost is counted for the "
    "cell: the answers themselves tell more, and need not be kept."
)
_AUDIT = (
    "Share of predictions that change when one attribute alone is replaced by a constant, of the rows it was tried on, "
    "with its one-sided 95 % bounds."
)


def page(
    contract: Generalizations,
    necessity: pd.DataFrame | None = None,
    *,
    order: pd.DataFrame | None = None,
    figures: Mapping[str, float] | None = None,
    about: str = "",
    notes: Sequence[str] = (),
) -> str:
    """Return the page as HTML that needs nothing else: no script, no picture, no call.

    Parameters
    ----------
    contract : Generalizations
        What is collected; all that the page shows of values stands there.
    necessity : pandas.DataFrame, optional
        ``attribute``, ``changed``, ``low``, ``high``, ``rows``, and where they are there ``changed_minimized`` and
        ``advice`` (see `components.minimization.necessity`).
    order : pandas.DataFrame, optional
        ``attribute``, ``asked``, ``position``: how often and how early each is asked (see `Questions.needed`).
    figures : mapping of str to float, optional
        ``features_asked_mean`` and ``features_asked_p90`` (see `Questions.figures`).
    about : str, optional
        Whose data and which model, in a line.
    notes : sequence of str, optional
        What a reader should know beside it.
    """
    parts = [_verdict(contract), _collected(contract)]
    if order is not None and len(order):
        parts.append(_order(order, figures or {}))
    if necessity is not None and len(necessity):
        parts.append(_necessity(necessity))
    parts.append(_limits(contract, notes))
    template = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(TITLE), subtitle=escape(about), body="\n".join(parts))


def _summary(contract: Generalizations) -> str:
    count = {how: sum(told_as(each) == how for each in contract.attributes) for how in HOW}
    told = [f"{number} {SUMMED[how]}" for how, number in count.items() if number]
    total = len(contract.attributes)
    return f"{total} attribute{'s' if total > 1 else ''}: {', '.join(told)}."


def _verdict(contract: Generalizations) -> str:
    verdict = contract.verdict
    if verdict is None:
        return "<p>It was not judged on fresh rows yet: nothing is promised.</p>"
    name = "Agreement" if verdict.measure == "agreement" else "R2"
    boxes = {
        f"{name} reached": _figure(verdict, verdict.agreement),
        f"Lower bound, 95{_PERCENT}": _figure(verdict, verdict.low),
        "Asked for": _figure(verdict, verdict.target),
        "Fresh rows": f"{verdict.rows:,}",
        "Detail lost, mean": _percent(sum(each.ncp for each in contract.attributes) / len(contract.attributes)),
    }
    cards = "".join(f"<div><b>{escape(value)}</b>{escape(what)}</div>" for what, value in boxes.items())
    return f'<p>{escape(_promise(verdict))}</p>\n<div class="figures">{cards}</div>'


def _promise(verdict: Verdict) -> str:
    end = "This was asked for, and is shown." if verdict.met else "This was asked for, and is not shown."
    target = _figure(verdict, verdict.target)
    if verdict.measure == "r2":
        return f"Told no more than this, the model keeps an R2 of at least {target} with its own predictions. {end}"
    return f"Told no more than this, the model predicts the same in at least {target} of cases. {end}"


def _collected(contract: Generalizations) -> str:
    rows = []
    for each in contract.attributes:
        how = f'<span class="tag {told_as(each)}">{HOW[told_as(each)]}</span>'
        rows.append([_name(each), how, _choices(each), _percent(each.ncp)])
    note = f"{_summary(contract)} {_ASKED_LOST if contract.use == 'questions' else _LOST}"
    if contract.use == "representatives":
        note += _CELLS.format(len(contract.cells))
    return _section("What to collect", note, _table(("Attribute", "Collect", "Answers", "Lost"), rows, numbers={3}))


def _name(each: Collected) -> str:
    said = each.text.rsplit(":", 1)[0]
    code = "" if said.lower() == each.name.lower() else f"<br><small>{escape(each.name)}</small>"
    return f"<span><b>{escape(said)}</b>{code}</span>"


def _choices(each: Collected) -> str:
    if not each.choices:
        return "<small>the value itself</small>" if each.collect == "exact" else "<small>not asked</small>"
    return f'<ul class="choices">{"".join(f"<li>{escape(choice)}</li>" for choice in each.choices)}</ul>'


def _order(order: pd.DataFrame, figures: Mapping[str, float]) -> str:
    told = "Attributes are asked for one at a time, until the prediction stands."
    if {"features_asked_mean", "features_asked_p90"} <= set(figures):
        mean, most = figures["features_asked_mean"], figures["features_asked_p90"]
        told += f" A person is asked for {mean:.1f} of them on average; nine of ten for no more than {most:.0f}."
    ranked = order.sort_values(["position", "asked"], ascending=[True, False], kind="stable", na_position="last")
    rows = [
        [f"<b>{escape(str(name))}</b>", _percent(asked), "never" if pd.isna(turn) else f"{turn:.1f}"]
        for name, asked, turn in ranked[["attribute", "asked", "position"]].itertuples(index=False)
    ]
    table = _table(("Attribute", "Persons asked", "Mean turn"), rows, numbers={1, 2})
    return _section("In which order", told, table)


def _necessity(necessity: pd.DataFrame) -> str:
    ranked = necessity.sort_values(["changed", "attribute"], ascending=[False, True], kind="stable")
    minimised = "changed_minimized" in ranked
    lines = []
    for row in ranked.to_dict("records"):
        advice = f"<br><small>{escape(row['advice'])}</small>" if row.get("advice") else ""
        name = f"<span><b>{escape(str(row['attribute']))}</b>{advice}</span>"
        line = [name, _percent(row["changed"]), f"{_percent(row['low'])} to {_percent(row['high'])}"]
        lines.append([*line, *([_percent(row["changed_minimized"])] if minimised else []), f"{row['rows']:,}"])
    heads = ("Attribute", "Changed", "Bounds", *(["Minimised"] if minimised else []), "Rows")
    table = _table(heads, lines, numbers=set(range(1, len(heads))))
    told = _AUDIT + (" Minimised: the same, where the model is told no more than what is collected." * minimised)
    return _section("How far each is needed", told, table)


def _limits(contract: Generalizations, notes: Sequence[str]) -> str:
    said = [*_LIMITS]
    if contract.representative == "row":
        said.append("What stands for a cell is a person's actual row: the file behind this page is as raw as the data.")
    if learned := [each.name for each in contract.attributes if each.learned]:
        said.append(f"The values of these come from rows, as no schema declares them: {', '.join(learned)}.")
    if len(said) == len(_LIMITS):
        said.append("Values here are those the schema declares; cuts between them were learned from rows, and rounded.")
    unmatched = sum(not cell.agrees for cell in contract.cells)
    if unmatched:
        said.append(
            f"In {unmatched:,} of {len(contract.cells):,} cells most rows that it was learned from do not keep the "
            "model's answer when they get the cell's values."
        )
    told = "".join(f"<li>{escape(each)}</li>" for each in (*said, *notes))
    return f'<section>\n<h2>What this does not say</h2>\n<ul class="plain">{told}</ul>\n</section>'


def _section(title: str, told: str, content: str) -> str:
    return f'<section>\n<h2>{escape(title)}</h2>\n<p class="soft">{escape(told)}</p>\n{content}\n</section>'


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: set[int]) -> str:
    """Return a table of cells that are HTML already; each knows its head, for screens too narrow for columns."""
    kind = [' class="number"' if place in numbers else "" for place in range(len(heads))]
    top = "".join(f"<th{how}>{escape(head)}</th>" for head, how in zip(heads, kind, strict=True))
    lines = [
        "".join(
            f'<td{how} data-label="{escape(head)}">{cell}</td>'
            for head, how, cell in zip(heads, kind, row, strict=True)
        )
        for row in rows
    ]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _figure(verdict: Verdict, value: float) -> str:
    """Return a figure of the verdict, rounded down, so that a bound below the target never looks like it."""
    if verdict.measure == "r2":
        return f"{floor(1e4 * value + 1e-9) / 1e4:g}"
    return f"{floor(1e4 * value + 1e-9) / 100:g}{_PERCENT}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}{_PERCENT}"
