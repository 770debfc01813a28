"""What can be wrong with a criterion once the table is at hand, in sentences."""

from components.anonymization.criteria.declarations import OnColumn, T
from components.anonymization.criteria.scores import natural_distance
from components.anonymization.criteria.sensitive import Rows
from components.anonymization.hierarchies.hierarchy import Hierarchy
from schemas.faults import Fault


def place_of(name: str, column: str) -> str:
    """Return how messages call a criterion."""
    return f"anonymization.criteria, {name}" + (f" on column '{column}'" if column else "")


def fault_of(criterion: OnColumn, number: int, column: str, rows: Rows, hierarchy: Hierarchy | None) -> Fault | None:
    """Return what is wrong with a criterion on a sensitive column: the column, or the distance between its values."""
    known = rows.sensitive
    if column not in known:
        return Fault(
            place=f"anonymization.criteria.{number}.column",
            problem=f"'{column}' is no sensitive column" if column else "names no column",
            allowed=f"the sensitive columns are {', '.join(known)}" if known else "the schema declares none",
            remedy="name one of them" if known else "give a column the role sensitive",
        )
    if isinstance(criterion, T) and criterion.distance == "hierarchical" and hierarchy is None:
        return Fault(
            place=f"anonymization.criteria.{number}.distance",
            problem=f"the column '{column}' has no hierarchy to measure a distance on",
            allowed="equal, ordered or auto without one",
            remedy=f"give dataset.columns.{column} a hierarchy",
        )
    if (
        isinstance(criterion, T)
        and criterion.distance == "ordered"
        and natural_distance(rows.values[column]) == "equal"
    ):
        return Fault(
            place=f"anonymization.criteria.{number}.distance",
            problem=f"the values of '{column}' have no order",
            allowed="equal, hierarchical or auto",
            remedy="change the distance, or declare the column as ordered with its values in order",
        )
    return None


def fault_of_population(number: int, rows: Rows, *, counted: bool) -> Fault | None:
    """Return what is wrong with k_map where nobody counts the population."""
    if counted or rows.each_stands_for is not None:
        return None
    return Fault(
        place=f"anonymization.criteria.{number}",
        problem="k_map is asked for, and this method counts no population table",
        remedy="choose anonymization=lattice, or declare dataset.population.size for an estimate",
    )


def too_small_a_population() -> Fault:
    """Say that a table can't be larger than the population it was drawn from."""
    return Fault(
        place="dataset.population.size",
        problem="the population is smaller than the table that was drawn from it",
        allowed="at least the table's number of rows (persons)",
        remedy="correct the size, or leave it out",
    )
