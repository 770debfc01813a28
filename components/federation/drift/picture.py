"""The drift checks of all rounds as one picture."""

from io import BytesIO
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMED = 12
"""Most clients that are named at their lines' ends: those that stand out furthest, of the ones ever over."""

INK, QUIET, LIMIT, ALARM = "#222222", "#9a9a9a", "#0072b2", "#c44e00"
"""Text; clients; threshold; flagged clients. The last two are told apart by all kinds of eyes, and by their marks."""

LETTERING: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.fonttype": "none",  # texts stay texts: to be searched, read out and copied
    "text.parse_math": False,  # a client may have a dollar in its name
    "svg.hashsalt": "drift",  # the same table gives the same bytes
}


def picture(checks: pd.DataFrame) -> str:
    """Draw each client's score over the rounds as a multiple of the round's threshold.

    Parameters
    ----------
    checks : pandas.DataFrame
        As `table` makes it, with a row at least.

    Returns
    -------
    str
        SVG with a title, the same bytes for the same table. Its texts are the clients' names and its own words.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    heights = _heights(checks)
    stream = BytesIO()
    with rc_context(LETTERING), catch_warnings():
        filterwarnings("ignore", message="Glyph .* missing from font")  # whoever shows the picture has other fonts
        figure = Figure(figsize=(8, 4.5), layout="constrained")
        axes = figure.add_subplot()
        _draw_lines(axes, heights, checks)
        _draw_marks(axes, heights, checks)
        _name_lines(axes, heights)
        _dress(axes, checks)
        metadata = {"Title": _title(checks), "Date": None, "Creator": None}
        figure.savefig(stream, format="svg", metadata=metadata)
    return stream.getvalue().decode()


def _heights(checks: pd.DataFrame) -> pd.DataFrame:
    """Return scores as multiples of the threshold, a row a round and a column a client; NaN where one did not come.

    A score over a threshold of 0 is drawn a little above all others.
    """
    score, threshold = checks["score"].to_numpy(dtype=float), checks["threshold"].to_numpy(dtype=float)
    multiples = np.divide(score, threshold, out=np.zeros_like(score), where=threshold > 0)
    endless = (threshold == 0) & (score > 0)
    multiples[endless] = 1.2 * max(multiples.max(), 1.0)
    drawn = checks[["round", "client"]].assign(multiple=multiples)
    return drawn.pivot_table(index="round", columns="client", values="multiple", sort=True)


def _draw_lines(axes: "Axes", heights: pd.DataFrame, checks: pd.DataFrame) -> None:
    """Draw the threshold and a line a client, in the alarm's colour where it was ever flagged."""
    flagged = set(checks.loc[checks["flagged"], "client"])
    crowd = min(1.0, 4 / np.sqrt(len(heights.columns)))
    ordered = sorted(heights.columns, key=lambda name: (name in flagged, name))
    for number, client in enumerate(ordered):
        alarm = client in flagged
        axes.plot(
            heights.index,
            heights[client],
            color=ALARM if alarm else QUIET,
            linewidth=1.4 if alarm else 1.2 * crowd,
            alpha=1.0 if alarm else max(0.35, crowd),
            marker="." if len(heights) == 1 else "",
            label="" if number or alarm else "a client never flagged",
        )
    axes.axhline(1.0, color=LIMIT, linestyle="--", linewidth=1.4, label="threshold")


def _draw_marks(axes: "Axes", heights: pd.DataFrame, checks: pd.DataFrame) -> None:
    """Mark what was found, each kind by a shape of its own."""
    weighed = checks["weight"] < 1
    kinds: dict[str, tuple[pd.Series[bool], dict[str, Any]]] = {
        "excluded": (checks["excluded"], {"marker": "X", "color": ALARM}),
        "less weight": (weighed & ~checks["excluded"], {"marker": "v", "color": ALARM}),
        "flagged only": (checks["flagged"] & ~weighed, {"marker": "o", "color": ALARM}),
        "over, within its noise": (checks["within_noise"], {"marker": "o", "facecolors": "white", "edgecolors": INK}),
    }
    for label, (mask, look) in kinds.items():
        some = checks.loc[mask, ["round", "client"]]
        if len(some):
            cells = (
                heights.index.get_indexer(pd.Index(some["round"])),
                heights.columns.get_indexer(pd.Index(some["client"])),
            )
            axes.scatter(some["round"], heights.to_numpy()[cells], s=44, zorder=3, linewidths=1, label=label, **look)


def _name_lines(axes: "Axes", heights: pd.DataFrame) -> None:
    """Name clients that were ever over the threshold, right of their last points and clear of one another."""
    highest = heights.max()
    some = highest[highest > 1].sort_values(ascending=False, kind="stable").index[:NAMED]
    ends = pd.Series({client: heights[client].dropna().iloc[-1] for client in some}, dtype=float).sort_values(
        kind="stable"
    )
    top = max(float(highest.max()), 1.0) * 1.06
    step = top / 22
    place = -step
    for client, end in ends.items():
        place = max(float(end), place + step)
        axes.annotate(
            str(client),
            (heights[client].last_valid_index(), end),
            xytext=(1.01, place / top),
            textcoords=axes.transAxes,
            va="center",
            arrowprops={"arrowstyle": "-", "color": QUIET, "linewidth": 0.6},
            annotation_clip=False,
        )
    axes.set_ylim(0, top)


def _dress(axes: "Axes", checks: pd.DataFrame) -> None:
    """Give the axes their words."""
    from matplotlib.ticker import MaxNLocator

    axes.set_title(_title(checks), loc="left", fontsize=11)
    axes.set_xlabel("round")
    axes.set_ylabel("score / threshold")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    first, last = checks["round"].min(), checks["round"].max()
    room = max(0.03 * (last - first), 0.5 * (first == last))
    axes.set_xlim(first - room, last + room)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=5, frameon=False)


def _title(checks: pd.DataFrame) -> str:
    """Say in a line how many of how many were flagged and excluded."""
    flagged, excluded = (checks.loc[checks[column], "client"].nunique() for column in ("flagged", "excluded"))
    clients, rounds = checks["client"].nunique(), checks["round"].nunique()
    counted = f"{clients} client{'s' * (clients != 1)}, {rounds} round{'s' * (rounds != 1)}"
    return f"Drift: {counted}; {flagged} ever flagged, {excluded} ever excluded"
