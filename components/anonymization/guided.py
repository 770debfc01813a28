"""Model-guided anonymisation (Goldsteen et al., arXiv 2007.13086): classes follow what a model says about the rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.anonymization.coding import Attribute, BoolArray, IntArray, encode, joined
from components.anonymization.criteria import most_frequent, tally
from components.anonymization.declarations import Guided
from components.anonymization.measurement import Measurement, measure, measure_classes
from components.anonymization.ranges import covering
from components.anonymization.release import Release
from components.anonymization.representatives import Published, actual, counted, medoid, middle
from components.anonymization.requirements import Requirement, bound, least_k, refuse_the_impossible
from components.anonymization.surrogate import Predictions, agreement, collapse, grow, read_predictions
from components.data.table import Table
from schemas.dataset import Column, DatasetSchema, Role, released
from schemas.faults import ConfigurationError, DataError, Fault, GoalError
from schemas.wording import listed


def anonymise(params: Guided, table: Table, predictions: npt.ArrayLike, seed: int) -> Release:
    """Give rows that a model treats alike one common tuple on the quasi-identifiers.

    A surrogate decision tree learns the model's predictions with at least k rows in a leaf. Leaves are folded until
    every class meets all criteria; then each class gets its representative. The same multiset of rows, in whatever
    order, gives the same release up to that order.

    Parameters
    ----------
    params : Guided
    table : Table
        The rows to release; k counts persons where the schema's subject id is a column of it. Is not written to.
    predictions : array_like, shape (n,) or (n, outputs)
        The original model's predictions on these rows: numbers to come close to (real ones, such as probabilities,
        and whole ones when the schema's task is regression), or else classes to hit.
    seed : int
        In [0, 2**32); decides between columns that split equally well.

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
    requirements = precheck(params, table)
    quasi_identifiers = encode(frame, _present(table, "quasi_identifier"))
    said = read_predictions(predictions, len(frame), numbers=_are_numbers(schema, predictions))
    _check_medoid(params, said)

    before = measure_classes(quasi_identifiers, frame, schema)
    units = joined(quasi_identifiers)
    splits = units if params.surrogate == "quasi_identifiers" else units + _other_features(table)
    classes, facts = _divide(params, splits, said, requirements, seed)
    columns = _publish(params, units, classes, said)
    facts |= _transformation(params, splits, columns)
    del quasi_identifiers, units, splits  # measuring needs the room

    release, training = _tables(table, columns)
    identities = frame[schema.subject_id] if schema.subject_id in frame.columns else None
    after = measure(release.frame, release.schema, frame, persons=identities)
    _refuse_missed(requirements, after)
    return Release(release, training, facts, before, after, after.suppressed)


def precheck(params: Guided, table: Table) -> list[Requirement]:
    """Refuse what no division of the rows can reach, without any of the work; takes and raises as `anonymise`.

    Returns
    -------
    list of Requirement
        What every class must meet, bound to the table.
    """
    if not len(table.frame):
        raise DataError(Fault("table", "0 rows; k is undefined", remedy="check the source, the split and dropped rows"))
    _check(params, table)
    return _requirements(params, table)


def _present(table: Table, role: Role) -> list[Column]:
    return [column for column in table.schema.columns if column.role == role and column.name in table.frame.columns]


def _requirements(params: Guided, table: Table) -> list[Requirement]:
    """Bind the criteria to the table, and refuse what not even the whole table as one class meets."""
    frame, schema = table.frame, table.schema
    sensitive = {attribute.name: attribute for attribute in encode(frame, _present(table, "sensitive"))}
    persons = None
    if schema.subject_id is not None and schema.subject_id in frame.columns:
        (persons,) = encode(frame, [schema.column(schema.subject_id)])
    requirements = bound(params, len(frame), sensitive, persons)
    refuse_the_impossible(requirements, len(frame))
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


def _check(params: Guided, table: Table) -> None:
    quasi_identifiers = _present(table, "quasi_identifier")
    if not quasi_identifiers:
        raise ConfigurationError(
            Fault("dataset.columns", "no quasi-identifier", remedy="give at least one column the role quasi_identifier")
        )
    if params.missing != "refuse":
        return
    # The index of a table that was read is the row in its source, which is what a reader looks up.
    index = table.frame.index
    places = index.to_numpy() if pd.api.types.is_integer_dtype(index.dtype) else np.arange(len(index))
    faults = []
    for column in quasi_identifiers:
        rows = (places[table.frame[column.name].isna().to_numpy()] + 1).tolist()
        if rows:
            faults.append(
                Fault(
                    place=f"column '{column.name}'",
                    problem=f"{len(rows)} of {len(index)} cells to release are missing ({listed(rows)})",
                    allowed="anonymization.missing=refuse allows none",
                    remedy="set anonymization.missing to own_value or ignore, or drop these rows",
                    rows=tuple(rows),
                )
            )
    if faults:
        raise DataError(faults)


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
    others = _present(table, "sensitive") + _present(table, "insensitive")
    return joined(encode(table.frame, [column for column in others if column.name in table.schema.features]))


def _publish(params: Guided, units: Sequence[Attribute], classes: IntArray, said: Predictions) -> list[Published]:
    """Find what each column of the release holds."""
    n_classes = int(classes.max()) + 1
    if params.representative == "medoid":
        majority = params.medoid_label == "majority"
        eligible = _in_majority(classes, n_classes, said) if majority else np.ones(len(classes), dtype=np.bool_)
        rows = medoid(units, classes, n_classes, params.missing, eligible)
        return [column for unit in units for column in actual(unit, unit.codes[rows], classes)]
    columns = []
    for unit in units:
        if params.representative == "range" and unit.columns[0].group is None:
            columns.append(covering(unit, classes, n_classes, params.missing))
        else:  # a set of one-hot rows would be no one-hot row: under range, too, a group takes its most frequent value
            codes = middle(unit, counted(unit, classes, n_classes), params.missing)
            columns.extend(actual(unit, codes, classes))
    return columns


def _in_majority(classes: IntArray, n_classes: int, said: Predictions) -> BoolArray:
    """Tell the rows whose predicted class is the most frequent one in their class, the first among equals."""
    labels = said.labels if said.labels is not None else np.zeros(len(classes), dtype=np.int64)
    counts = tally(classes, labels, n_classes, max(said.n_labels, 1))
    return np.asarray(most_frequent(counts)[classes] == labels)


def _tables(table: Table, columns: Sequence[Published]) -> tuple[Table, Table]:
    """Put the released cells in place, and their like in the original domain."""
    generalised = [column.column.name for column in columns if column.generalised]
    schema = released(table.schema, generalised)
    kept = table.frame[[name for name in table.frame.columns if name in schema.names()]]
    release = Table(_with_cells(kept, {column.column.name: column.cells for column in columns}), schema)
    if not generalised:
        return release, release
    training = _with_cells(kept, {column.column.name: column.training for column in columns})
    return release, Table(training, released(table.schema))


def _with_cells(frame: pd.DataFrame, cells: Mapping[str, Any]) -> pd.DataFrame:
    """Put arrays into columns without copying them."""
    return frame.assign(**{name: pd.Series(array, index=frame.index, copy=False) for name, array in cells.items()})


def _refuse_missed(requirements: Sequence[Requirement], after: Measurement) -> None:
    """Never let out a table that misses what was asked of it."""
    faults = []
    for requirement in requirements:
        where: Any = after if requirement.name == "k" else after.columns[requirement.column]
        reached = float(getattr(where, requirement.name))
        if not requirement.met(reached):
            faults.append(
                Fault(
                    place=f"anonymization.criteria, {requirement.name}",
                    problem=f"asks for {requirement.asked:g}; {reached:.6g} was measured on the release",
                    remedy="nothing was published; please report this as an error of the method",
                )
            )
    if faults:
        raise GoalError(faults)


def _transformation(params: Guided, splits: Sequence[Attribute], columns: Sequence[Published]) -> dict[str, Any]:
    drawn = {
        "median": "each cell is an actual value of the column; the tuple need not be anyone's",
        "medoid": "each class shows the quasi-identifiers of one actual record",
        "range": "each cell covers all values of the class; both ends of a range are actual values",
    }
    return {
        "method": params.name,
        "parameters": params.model_dump(mode="json"),
        "k": least_k(params),
        "surrogate_columns": [column.name for attribute in splits for column in attribute.columns],
        "representatives": drawn[params.representative],
        "cells_changed": {column.column.name: column.changed for column in columns},
    }
