"""What configuration alone decides about differential privacy. Light on purpose."""

from collections.abc import Iterator

from components.dp.conditions import NO_GUARANTEE, Setting, remedy_of, withdrawn_by_combination
from components.dp.declarations import Adaptive, ByEpsilon, ByTiers, Global, Noised, Personalise, Personalized, Record
from components.dp.sensitivity import Mechanism
from schemas.faults import Fault


def mechanism_of(privacy: Noised) -> Mechanism:
    """Return where a declaration adds its noise."""
    if isinstance(privacy, Record):
        return "record"
    if isinstance(privacy, Global):
        return "server" if privacy.noise_from == "server" else "distributed"
    return "local"


def personalise_of(privacy: Noised) -> Personalise | None:
    """Return how a declaration personalises; None where all clients are alike."""
    return None if isinstance(privacy, Global) else privacy.personalise


def follows_risk(privacy: Noised) -> bool:
    """Say whether clients' noise follows their risks."""
    how = personalise_of(privacy)
    return how is not None and not isinstance(how, ByEpsilon)


def faults(privacy: Noised, clients: int | None = None) -> Iterator[Fault]:
    """Yield what is wrong with a declaration by itself.

    Parameters
    ----------
    privacy : Noised
    clients : int, optional
        How many there are, where that is known.
    """
    yield from _strength(privacy)
    yield from _tiers(privacy)
    if isinstance(privacy, Personalized) and privacy.paper:
        yield from _paper(privacy)
    if isinstance(privacy, Global):
        yield from _cohort(privacy, clients)


def combination_faults(privacy: Noised, setting: Setting) -> Iterator[Fault]:
    """Yield what takes the epsilon away and was not asked to be reported instead.

    Parameters
    ----------
    privacy : Noised
    setting : Setting
        What the rest of the configuration makes of it.
    """
    explicit = isinstance(privacy, Personalized) and privacy.paper
    if privacy.unproven == "report" or explicit:
        return
    for reason in withdrawn_by_combination(setting):
        yield Fault(
            place=f"dp ({privacy.name})",
            problem=f"no epsilon holds: {reason}",
            remedy=f"set {remedy_of(reason) or 'another'}, or dp.unproven=report to go on with '{NO_GUARANTEE}'",
        )


def _strength(privacy: Noised) -> Iterator[Fault]:
    how = personalise_of(privacy)
    given = [name for name in ("multiplier", "target_epsilon") if getattr(privacy, name) is not None]
    if isinstance(how, ByTiers | ByEpsilon):
        for name in given:
            yield Fault(
                f"dp.{name}", f"personalise={how.name} says it by client", "null", f"set dp.{name}=null, or personalise"
            )
    elif len(given) != 1:
        yield Fault(
            place="dp.multiplier",
            problem="multiplier and target_epsilon are both given" if given else "how much noise is wanted isn't said",
            allowed="one of dp.multiplier and dp.target_epsilon",
            remedy="set the other one to null" if given else "set dp.target_epsilon, such as 3",
        )
    targets = [("dp.target_epsilon", privacy.target_epsilon)]
    if isinstance(how, ByEpsilon):
        targets += [("dp.personalise.default", how.default)]
        targets += [(f"dp.personalise.clients.{client}", target) for client, target in how.clients.items()]
    if isinstance(how, ByTiers):
        targets += [
            (f"dp.personalise.tiers.{number}.target_epsilon", tier.target_epsilon)
            for number, tier in enumerate(how.tiers)
        ]
    for place, target in targets:
        if privacy.budget is not None and target is not None and target > privacy.budget:
            yield Fault(place, "it is beyond the budget", f"at most {privacy.budget:g}", "lower it, or raise dp.budget")


def _tiers(privacy: Noised) -> Iterator[Fault]:
    how = personalise_of(privacy)
    if not isinstance(how, ByTiers):
        return
    place = "dp.personalise.tiers"
    bounds = [tier.up_to for tier in how.tiers]
    if bounds != sorted(set(bounds)):
        yield Fault(f"{place}", "bands don't follow each other", "each up_to above the one before", "sort them")
    if bounds[-1] != 1:
        yield Fault(f"{place}.{len(bounds) - 1}.up_to", "risks above it have no band", "1", "add a band up to 1")
    for number, tier in enumerate(how.tiers):
        if (tier.multiplier is None) == (tier.target_epsilon is None):
            yield Fault(
                f"{place}.{number}",
                "a band has one of multiplier and target_epsilon",
                remedy="set one of them and leave the other out",
            )


def _paper(privacy: Personalized) -> Iterator[Fault]:
    impossible = {
        "target_epsilon": privacy.target_epsilon is not None,
        "budget": privacy.budget is not None,
        "clipping": isinstance(privacy.clipping, Adaptive),
        "personalise": isinstance(privacy.personalise, ByEpsilon)
        or (
            isinstance(privacy.personalise, ByTiers) and any(tier.target_epsilon for tier in privacy.personalise.tiers)
        ),
    }
    for name in (name for name, given in impossible.items() if given):
        yield Fault(
            place=f"dp.{name}",
            problem="paper mode clips nothing, so that it has no epsilon",
            allowed="a multiplier alone",
            remedy=f"set {PAPER[name]}, or dp.paper=false",
        )


PAPER = {
    "target_epsilon": "dp.target_epsilon=null and dp.multiplier to the standard deviation of the noise",
    "budget": "dp.budget=null",
    "clipping": "dp/clipping=fixed, whose norm is not looked at",
    "personalise": "dp/personalise to none, max, mean, minmax or shift",
}


def _cohort(privacy: Global, clients: int | None) -> Iterator[Fault]:
    smallest = privacy.smallest_cohort
    if smallest is not None and clients is not None and smallest > clients:
        yield Fault("dp.smallest_cohort", "there are fewer clients", f"at most {clients}", "lower it")


def small_enough(delta: float, rows: int) -> bool:
    """Return whether a delta is below one over the rows: a larger one allows to publish a row as it is."""
    return delta * rows < 1
