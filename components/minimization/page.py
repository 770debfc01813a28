"""``ask.html``: one page, for people, of what needs to be asked, what that keeps, and what it does not say."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import floor
from pathlib import Path
from string import Template
from typing import Literal

import pandas as pd

from components.minimization.collected import told_as
from components.minimization.wording import UNKNOWN
from schemas.generalizations import Collect, Collected, Generalizations, Verdict

TITLE = "What we need to ask"
Told = Collect | Literal["known"]
"""What is collected, as it is told: of what is collected as nothing it may be asked whether it is known."""

HOW: dict[Told, str] = {
    "exact": "exactly",
    "ranges": "a range",
    "groups": "a group",
    "known": "whether known",
    "nothing": "nothing",
}
SUMMED: dict[Told, tuple[str, str]] = {
    "exact": ("as it is", "as they are"),
    "ranges": ("by range", "by range"),
    "groups": ("by group", "by group"),
    "known": ("by whether it is known", "by whether they are known"),
    "nothing": ("not at all", "not at all"),
}
"""What is collected, in words: of one attribute; among others, of one and of several."""

SHOWN = 12
"""Most answers that are all listed; of more the first and the last ones are, and the others unfold."""

FIRST = 4

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
_CELL = " All answers lead to one cell, and the model gets its values: what is lost is counted for it."
_AUDIT = (
    "Share of predictions that change when one attribute alone is replaced by a constant, of the rows it was tried on, "
    "with its one-sided 95 % bounds."
)


def page(  # noqa: PLR0913  # all that a run can say, each by name
    contract: Generalizations,
    necessity: pd.DataFrame | None = None,
    *,
    order: pd.DataFrame | None = None,
    figures: Mapping[str, float] | None = None,
    chosen: bool = False,
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
        ``features_asked_mean``, ``features_asked_p90`` and ``asked_everything`` (see `Questions.figures`).
    chosen : bool, default False
        Nobody asked for the target of the verdict: the run took one that its rows can show.
    about : str, optional
        Whose data and which model, in a line.
    notes : sequence of str, optional
        What a reader should know beside it.
    """
    parts = [_verdict(contract, chosen=chosen), _collected(contract)]
    titles = {each.name: _title(each) for each in contract.attributes}
    if order is not None and len(order):
        parts.append(_order(order, figures or {}, titles))
    if necessity is not None and len(necessity):
        parts.append(_necessity(necessity, titles))
    parts.append(_limits(contract, [_by_title(note, titles) for note in notes], titles))
    template = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(TITLE), subtitle=escape(about), body="\n".join(parts))


def _summary(contract: Generalizations) -> str:
    count = {how: sum(_told(each) == how for each in contract.attributes) for how in HOW}
    told = [f"{number} {SUMMED[how][number > 1]}" for how, number in count.items() if number]
    return f"{_counted(len(contract.attributes), 'attribute')}: {', '.join(told)}."


def _told(each: Collected) -> Told:
    return "known" if each.collect == "nothing" and each.choices else told_as(each)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' if number != 1 else ''}"


def _verdict(contract: Generalizations, *, chosen: bool) -> str:
    verdict, several = contract.verdict, len(contract.outputs) > 1
    if verdict is None:
        return "<p>It was not judged on fresh rows yet: nothing is promised.</p>"
    name = "Agreement" if verdict.measure == "agreement" else ("Least R2" if several else "R2")
    boxes = {
        f"{name} reached": _figure(verdict, verdict.agreement),
        f"Lower bound, 95{_PERCENT}": _figure(verdict, verdict.low),
        "Chosen by the run" if chosen else "Asked for": _figure(verdict, verdict.target),
        "Fresh rows": f"{verdict.rows:,}",
        "Detail lost, mean": _percent(sum(each.ncp for each in contract.attributes) / len(contract.attributes)),
    }
    cards = "".join(f"<div><b>{escape(value)}</b>{escape(what)}</div>" for what, value in boxes.items())
    return f'<p>{escape(_promise(verdict, chosen=chosen, several=several))}</p>\n<div class="figures">{cards}</div>'


def _promise(verdict: Verdict, *, chosen: bool, several: bool) -> str:
    asked = "Nobody asked for a figure: the run chose one that its rows can show" if chosen else "This was asked for"
    end = f"{asked}, and {'it ' * chosen}is {'' if verdict.met else 'not '}shown."
    target = _figure(verdict, verdict.target)
    if verdict.measure == "r2":
        kept = f"keeps an R2 of at least {target} with its own predictions{' of each target' if several else ''}"
    else:
        kept = f"predicts the same{' of every target' if several else ''} in at least {target} of cases"
    return f"Told no more than this, the model {kept}. {end}"


def _collected(contract: Generalizations) -> str:
    rows = []
    for each in contract.attributes:
        how = f'<span class="tag {_told(each)}">{HOW[_told(each)]}</span>'
        rows.append([_name(each), how, _choices(each), _percent(each.ncp)])
    note = f"{_summary(contract)} {_ASKED_LOST if contract.use == 'questions' else _LOST}"
    if contract.use == "representatives":
        note += _CELLS.format(len(contract.cells)) if len(contract.cells) > 1 else _CELL
    return _section("What to collect", note, _table(("Attribute", "Collect", "Answers", "Lost"), rows, numbers={3}))


def _name(each: Collected) -> str:
    said = _title(each)
    code = "" if said.lower() == each.name.lower() else f"<br><small>{escape(each.name)}</small>"
    return f"<span><b>{escape(said)}</b>{code}</span>"


def _title(each: Collected) -> str:
    """Return what an attribute is called all over the page; what tables call it stands beside it once."""
    return each.text.rsplit(":", 1)[0]


def _by_title(note: str, titles: Mapping[str, str]) -> str:
    """Return a note in which attributes that it names in quotes are called as the page does."""
    return re.sub(r"'([^']+)'", lambda found: f"'{titles.get(found[1], found[1])}'", note)


def _choices(each: Collected) -> str:
    if not each.choices:
        return "<small>the value itself</small>" if each.collect == "exact" else "<small>not asked</small>"
    if len(each.choices) <= SHOWN:
        return _listed(each.choices)
    last = 2 if each.choices[-1] == UNKNOWN else 1
    between = each.choices[FIRST:-last]
    more = f"<details><summary>{len(between)} more, as in generalizations.json</summary>{_listed(between)}</details>"
    return f"<div>{_listed(each.choices[:FIRST])}{more}{_listed(each.choices[-last:])}</div>"


def _listed(choices: Sequence[str]) -> str:
    return f'<ul class="choices">{"".join(f"<li>{escape(choice)}</li>" for choice in choices)}</ul>'


def _order(order: pd.DataFrame, figures: Mapping[str, float], titles: Mapping[str, str]) -> str:
    told = "Attributes are asked for one at a time, until the prediction stands."
    if {"features_asked_mean", "features_asked_p90"} <= set(figures):
        mean, most = figures["features_asked_mean"], figures["features_asked_p90"]
        told += f" A person is asked for {mean:.1f} of them on average; nine of ten for no more than {most:.0f}."
    if everything := figures.get("asked_everything"):
        told += (
            f" All that is collected is asked of {_percent(everything)} of persons; what is left by then is asked at "
            "once, in one turn."
        )
    ranked = order.sort_values(["position", "asked"], ascending=[True, False], kind="stable", na_position="last")
    rows = [
        [f"<b>{escape(titles.get(name, str(name)))}</b>", _percent(asked), "never" if pd.isna(turn) else f"{turn:.1f}"]
        for name, asked, turn in ranked[["attribute", "asked", "position"]].itertuples(index=False)
    ]
    table = _table(("Attribute", "Persons asked", "Mean turn"), rows, numbers={1, 2})
    return _section("In which order", told, table)


def _necessity(necessity: pd.DataFrame, titles: Mapping[str, str]) -> str:
    ranked = necessity.sort_values(["changed", "attribute"], ascending=[False, True], kind="stable")
    minimised = "changed_minimized" in ranked
    lines = []
    for row in ranked.to_dict("records"):
        advice = f"<br><small>{escape(row['advice'])}</small>" if row.get("advice") else ""
        name = f"<span><b>{escape(titles.get(row['attribute'], str(row['attribute'])))}</b>{advice}</span>"
        line = [name, _percent(row["changed"]), f"{_percent(row['low'])} to {_percent(row['high'])}"]
        lines.append([*line, *([_percent(row["changed_minimized"])] if minimised else []), f"{row['rows']:,}"])
    heads = ("Attribute", "Changed", "Bounds", *(["Minimised"] if minimised else []), "Rows")
    table = _table(heads, lines, numbers=set(range(1, len(heads))))
    told = _AUDIT + (" Minimised: the same, where the model is told no more than what is collected." * minimised)
    return _section("How far each is needed", told, table)


def _limits(contract: Generalizations, notes: Sequence[str], titles: Mapping[str, str]) -> str:
    said = [*_LIMITS]
    if contract.representative == "row":
        said.append("What stands for a cell is a person's actual row: the file behind this page is as raw as the data.")
    if learned := [titles[each.name] for each in contract.attributes if each.learned]:
        said.append(f"The values of these come from rows, as no schema declares them: {', '.join(learned)}.")
    if len(said) == len(_LIMITS):
        said.append("Values here are those the schema declares; cuts between them were learned from rows, and rounded.")
    unmatched = sum(not cell.agrees for cell in contract.cells)
    if unmatched:
        said.append(
            f"In {unmatched:,} of {_counted(len(contract.cells), 'cell')} most rows that it was learned from do not "
            "keep the model's answer when they get the cell's values."
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
