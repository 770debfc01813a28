"""What a configuration of aggregation can't mean, told before anything runs. Light on purpose."""

from collections.abc import Sequence

from components.federation.aggregation.declarations import Aggregation, Krum, Mean, MultiKrum, Rule
from components.federation.drift.declarations import Drift
from schemas.faults import Fault
from schemas.wording import of_clients, one_of_clients

PLACE = "federation.aggregation.rule"


def faults(params: Aggregation, drift: Drift | None, clients: Sequence[str]) -> list[Fault]:
    """Return all that is wrong.

    Parameters
    ----------
    params : Aggregation
    drift : Drift, optional
        The drift check in front of it.
    clients : sequence of str
        Every client of the run.

    Returns
    -------
    list of Fault
    """
    found = too_few(params.rule, len(clients)) + unweighable(params.rule, drift)
    return found + (other_clients(params.rule, clients) if isinstance(params.rule, Mean) else [])


def unweighable(rule: Rule, drift: Drift | None) -> list[Fault]:
    """Return the fault of a drift check that weights clients down in front of a rule without weights."""
    if isinstance(rule, Mean) or drift is None or drift.action != "down_weight":
        return []
    told = f"down_weight, and the rule {rule.name} can't give a client less weight"
    remedy = f"set it to exclude, or {PLACE}.name to mean"
    return [Fault("federation.drift.action", told, "allowed with it: exclude, report", remedy)]


def least_clients(rule: Rule) -> int:
    """Return how many clients a rule needs: for Krum ``2 f + 3``, and as many as it keeps besides f."""
    match rule:
        case Krum():
            return 2 * rule.byzantine + 3
        case MultiKrum():
            return max(2 * rule.byzantine + 3, rule.byzantine + (rule.keep or 1))
        case _:
            return 1


def too_few(rule: Rule, clients: int) -> list[Fault]:
    """Return the fault of a rule that needs more clients than there are."""
    needed = least_clients(rule)
    if clients >= needed:
        return []
    told = f"{rule.name} needs {needed} clients and there are {clients}"
    return [Fault(f"{PLACE}.name", told, remedy="lower byzantine or keep, or choose median")]


def other_clients(rule: Mean, clients: Sequence[str]) -> list[Fault]:
    """Return the faults of fixed weights that leave a client out, or name one that there isn't."""
    if rule.weights != "fixed":
        return []
    absent = [client for client in clients if client not in rule.fixed]
    unknown = [client for client in rule.fixed if client not in clients]
    found = []
    if absent:
        told = f"no weight for {of_clients(absent, len(clients))}"
        found.append(Fault(f"{PLACE}.fixed", told, remedy="give every client one"))
    if unknown:
        told = f"no such client: {of_clients(unknown, len(rule.fixed))}"
        found.append(Fault(f"{PLACE}.fixed", told, one_of_clients(clients), "correct the name"))
    return found
