"""When the arithmetic of the noise is the whole story, and an epsilon holds."""

from dataclasses import dataclass
from typing import Literal

from components.dp.declarations import Relation
from components.dp.sensitivity import Mechanism

NO_GUARANTEE = "no formal guarantee"

From = Literal["none", "noised", "raw"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What decides whether the arithmetic of the noise is the whole story; by default it is.

    Parameters
    ----------
    mechanism : {"server", "distributed", "local", "record"}
    clipped : bool
        False in ``paper`` mode.
    seeded : bool
        Whether the noise can be repeated.
    learned_encoder : bool
        Whether categories or bounds were learned from rows.
    drift, robust, scaffold : {"none", "noised", "raw"}
        Whether drifting clients are excluded or weighted down, the aggregation is another than a weighted mean, and
        control variates are sent; and whether that is computed from noised messages alone or from others too. Control
        variates that are clipped, noised and accounted as a second release are ``noised``.
    weights : {"equal", "fixed", "rows"}
    stops_on_raw : bool
        Whether training stops by losses or scores of the clients' rows.
    divisor : {"expected", "realised"}
        Whether an average divides by the clients that were expected or by those that came.
    answered, declared : int
        Of distributed noise: the fewest clients of a round, and the declared smallest cohort.
    relation : {"zero_out", "replace_table", "add_remove_record", "replace_record"}
        What neighbouring inputs differ in. Unless it fixes how many rows a client has, nothing may follow from that.
    """

    mechanism: Mechanism
    clipped: bool = True
    seeded: bool = False
    learned_encoder: bool = False
    drift: From = "none"
    robust: From = "none"
    scaffold: From = "none"
    weights: Literal["equal", "fixed", "rows"] = "equal"
    stops_on_raw: bool = False
    divisor: Literal["expected", "realised"] = "expected"
    answered: int = 1
    declared: int = 1
    relation: Relation = "replace_record"


def withdrawn(setting: Setting) -> tuple[str, ...]:
    """Return why no epsilon holds; nothing where it does.

    Parameters
    ----------
    setting : Setting

    Returns
    -------
    tuple of str
        Every reason, each a clause.
    """
    return withdrawn_by_choice(setting) + withdrawn_by_combination(setting)


REMEDIES = {
    "the encoder": "encoder.learn=false",
    "training stops": "federation.early_stop=null, or its monitor to change",
    "drifting clients": "federation.drift.action=report, or federation/drift=none",
    "a robust aggregation": "federation/rule=mean",
    "SCAFFOLD": "federation=fedavg",
    "clients are weighted": "federation.aggregation.rule.weights=equal",
    "the average is divided": "federation.aggregation.rule.divisor=expected",
    "shares of noise": "federation.aggregation.rule.weights=equal",
}
"""What to set against each reason of a combination, by its first words."""


def remedy_of(reason: str) -> str:
    """Return the setting that takes a reason away; empty where there is no single one."""
    return next((setting for start, setting in REMEDIES.items() if reason.startswith(start)), "")


def withdrawn_by_choice(setting: Setting) -> tuple[str, ...]:
    """Return the reasons that a setting has by itself, which nobody chooses unawares."""
    reasons = {
        "nothing bounds what a client sends (paper mode clips nothing)": not setting.clipped,
        "the noise was seeded and can be repeated": setting.seeded,
    }
    return tuple(reason for reason, holds in reasons.items() if holds)


def withdrawn_by_combination(setting: Setting) -> tuple[str, ...]:
    """Return the reasons that come from what noise is combined with."""
    summed = setting.mechanism in ("server", "distributed")
    reasons = {
        "the encoder was learned from rows": setting.learned_encoder,
        "training stops by metrics of the clients' rows": setting.stops_on_raw,
    }
    reasons |= _of_a_sum(setting) if summed else _of_messages(setting)
    return tuple(reason for reason, holds in reasons.items() if holds)


def _of_a_sum(setting: Setting) -> dict[str, bool]:
    """Noise on a sum covers a client's own term alone: it may not change the terms of others."""
    distributed = setting.mechanism == "distributed"
    short = distributed and setting.answered < setting.declared
    return {
        "drifting clients are left out or weighted down before the noise, so that one client changes what others "
        "contribute": setting.drift != "none",
        "a robust aggregation is no sum: one client changes what others contribute": setting.robust != "none",
        "SCAFFOLD's control variates are a second release, which this noise is not on": setting.scaffold != "none",
        "clients are weighted by their rows, which are no public weights": setting.weights == "rows",
        "the average is divided by the clients that came, which changes its sensitivity": setting.divisor == "realised",
        "shares of noise make up that of equal weights, and the weights are others": distributed
        and setting.weights == "fixed",
        f"{setting.answered} clients answered where shares of noise were made for {setting.declared}": short,
    }


def _of_messages(setting: Setting) -> dict[str, bool]:
    """Noised messages carry their guarantee into whatever is computed from them alone.

    The accounting of record-level noise takes the number of rows for public, since rates and steps follow from it.
    """
    counted = setting.mechanism == "local" and setting.relation != "replace_record"
    return {
        "drift is scored on messages before their noise": setting.drift == "raw",
        "the aggregation looks at messages before their noise": setting.robust == "raw",
        "SCAFFOLD's control variates are sent without noise": setting.scaffold == "raw",
        "SCAFFOLD's control variates are divided by a client's local steps, which tell of how many rows it has, and "
        f"{setting.relation} lets these differ": counted and setting.scaffold == "noised",
        "clients are weighted by their rows, which they tell without noise, and "
        f"{setting.relation} lets these differ": counted and setting.weights == "rows",
    }
