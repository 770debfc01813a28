"""What of a federation decides whether an epsilon holds. Light on purpose."""

from components.dp.checks import mechanism_of
from components.dp.conditions import Setting
from components.dp.declarations import Noised, Personalized
from components.federation.aggregation.declarations import Mean
from components.federation.declarations import Federation, Scaffold


def setting_of(privacy: Noised, federation: Federation, *, learned_encoder: bool = False) -> Setting:
    """Return what decides whether an epsilon holds.

    Control variates follow from what clients release (`components.federation.control`), and drift, robust aggregation
    and early stops look at messages as they arrive: with noise where clients add their own.
    """
    rule, drift, stop = federation.aggregation.rule, federation.drift, federation.early_stop
    acts = drift is not None and drift.action != "report"
    mean = rule if isinstance(rule, Mean) else Mean()
    return Setting(
        mechanism_of(privacy),
        clipped=not (isinstance(privacy, Personalized) and privacy.paper),
        seeded=privacy.noise_seed is not None,
        learned_encoder=learned_encoder,
        drift="noised" if acts else "none",
        robust="none" if isinstance(rule, Mean) else "noised",
        scaffold="noised" if isinstance(federation, Scaffold) else "none",
        weights=mean.weights,
        stops_on_raw=stop is not None and stop.monitor == "loss",
        divisor=mean.divisor or "expected",
        relation=privacy.relation,
    )
