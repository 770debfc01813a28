"""Model-guided anonymisation (Goldsteen et al., arXiv 2007.13086): classes follow what a model says about the rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from components.anonymization.criteria.requirements import Requirement, least_k, refuse_the_impossible, required
from components.anonymization.declarations import Guided
from components.anonymization.guided.surrogate import Predictions, agreement, collapse, grow, read_predictions
from components.anonymization.measurement import measure_classes
from components.anonymization.publishing import Decided, publish, quasi_identifiers
from components.anonymization.ranges import covering, on_all
from components.anonymization.refusals import refuse_missing_cells, refuse_nothing_to_do
from components.anonymization.release import Given, Release
from components.anonymization.representatives import Published, actual, counted, medoid, middle
from components.classes.coding import Attribute, BoolArray, IntArray, encode, joined
from components.classes.counts import most_frequent, tally
from components.data.table import Table
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, Fault


def anonymise(params: Guided, table: Table, given: Given) -> Release:
    """Give rows that a model treats alike one common tuple on the quasi-identifiers.

    A surrogate decision tree learns the model's predictions with at least k rows in a leaf. Leaves are folded until
    every class meets all criteria; then each class gets its representative. The same multiset of rows, in whatever
    order, gives the same release up to that order.

    Parameters
    ----------
    params : Guided
    table : Table
        The rows to release; k counts persons where the schema's subject id is a column of it. Is not written to.
    given : Given
        Its ``predictions`` are the original model's on these rows: numbers to come close to (real ones, such as
        probabilities, and whole ones when the schema's task is regression), or else classes to hit. Its ``seed``
        decides between columns that split equally well.

    Returns
    -------
    Release
        Index, dtypes and order of the remaining columns are the input's; only cells of quasi-identifiers differ.

    Raises
    ------
    DataError
        There are no rows, or a quasi-identifier has missing cells and ``missing`` is ``refuse``.
    GoalError
        There are fewer rows (persons) than k, or a criterion can't be met on these rows.
    ConfigurationError
        The schema has no quasi-identifier, or parameters and predictions don't go together.
    """
    frame, schema = table.frame, table.schema
    requirements = precheck(params, table, given)
    units = encode(frame, quasi_identifiers(table))
    before = measure_classes(units, frame, schema, requirements=requirements)
    if given.predictions is None:
        raise TypeError("the guided method needs the model's predictions")
    said = read_predictions(given.predictions, len(frame), numbers=_are_numbers(schema, given.predictions))
    _check_medoid(params, said)

    units = joined(units)
    splits = units if params.surrogate == "quasi_identifiers" else units + _other_features(table)
    classes, facts = _divide(params, splits, said, requirements, given.seed)
    columns = _publish(params, units, classes, said)
    facts |= _transformation(params, splits)
    del units, splits  # measuring needs the room
    return publish(params, table, Decided(columns, facts), requirements, before)


def precheck(params: Guided, table: Table, given: Given) -> list[Requirement]:
    """Refuse what no division of the rows can reach, without any of the work; takes and raises as `anonymise`.

    Returns
    -------
    list of Requirement
        What every class must meet, bound to the table.
    """
    refuse_nothing_to_do(table)
    if params.missing == "refuse":
        refuse_missing_cells(table, quasi_identifiers(table), "anonymization.missing", "own_value or ignore")
    requirements = required(params, table, given.hierarchies)
    refuse_the_impossible(requirements, len(table.frame))
    return requirements


def _divide(
    params: Guided, splits: Sequence[Attribute], said: Predictions, requirements: Sequence[Requirement], seed: int
) -> tuple[IntArray, dict[str, Any]]:
    """Divide the rows into classes, and say how that went."""
    tree = grow(splits, said, least_k(params), params.missing, seed)
    classes = collapse(tree, requirements)
    facts = {
        "leaves_grown": int(np.count_nonzero(np.bincount(tree.leaves))),
        "leaves_kept": int(classes.max()) + 1,
        "agreement": agreement(classes, said),
    }
    return classes, facts


def _are_numbers(schema: DatasetSchema, predictions: npt.ArrayLike) -> bool:
    kind = np.asarray(predictions).dtype.kind
    return kind == "f" or (kind in "iu" and schema.task == "regression")


def _check_medoid(params: Guided, said: Predictions) -> None:
    if params.representative == "medoid" and params.medoid_label == "majority" and said.labels is None:
        raise ConfigurationError(
            Fault(
                place="anonymization.medoid_label",
                problem="majority needs predicted classes, and the model predicts numbers",
                remedy="set anonymization.medoid_label=any",
            )
        )


def _other_features(table: Table) -> list[Attribute]:
    """Return the features that are no quasi-identifiers, ready to split on."""
    schema, frame = table.schema, table.frame
    names = set(schema.features) - set(schema.quasi_identifiers)
    return joined(encode(frame, [column for column in schema.columns if column.name in names & set(frame.columns)]))


def _publish(params: Guided, units: Sequence[Attribute], classes: IntArray, said: Predictions) -> list[Published]:
    """Find what each column of the release holds."""
    n_classes = int(classes.max()) + 1
    if params.representative == "medoid":
        majority = params.medoid_label == "majority"
        eligible = _in_majority(classes, n_classes, said) if majority else np.ones(len(classes), dtype=np.bool_)
        rows = medoid(units, classes, n_classes, params.missing, eligible)
        return [column for unit in units for column in actual(unit, unit.codes[rows], classes)]

    def shown(unit: Attribute) -> list[Published]:
        if params.representative == "range" and unit.columns[0].group is None:
            return [covering(unit, classes, n_classes, params.missing)]
        # A set of one-hot rows would be no one-hot row: under range, too, a group takes its most frequent value.
        return actual(unit, middle(unit, counted(unit, classes, n_classes), params.missing), classes)

    return on_all(units, shown)


def _in_majority(classes: IntArray, n_classes: int, said: Predictions) -> BoolArray:
    """Tell the rows whose predicted class is the most frequent one in their class, the first among equals."""
    labels = said.labels if said.labels is not None else np.zeros(len(classes), dtype=np.int64)
    counts = tally(classes, labels, n_classes, max(said.n_labels, 1))
    return np.asarray(most_frequent(counts)[classes] == labels)


def _transformation(params: Guided, splits: Sequence[Attribute]) -> dict[str, Any]:
    drawn = {
        "median": "each cell is an actual value of the column; the tuple need not be anyone's",
        "medoid": "each class shows the quasi-identifiers of one actual record",
        "range": "each cell covers all values of the class; both ends of a range are actual values",
    }
    return {
        "surrogate_columns": [column.name for attribute in splits for column in attribute.columns],
        "representatives": drawn[params.representative],
    }
