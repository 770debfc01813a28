"""The configured model in a run: fitted, asked in one order, and written."""

from hashlib import sha256
from pathlib import Path

import numpy as np

from components.data import Table, canonical_order
from components.models import JointModel, Model, build
from components.models.encoded_model import EncodedModel
from runner.job import Job
from schemas.dataset import Column, DatasetSchema


def predicted(model: Model, table: Table) -> tuple[np.ndarray, str]:
    """Return a model's predictions and their digest.

    They are made, and the digest is taken, in canonical order: in another one the last bits of a sum can differ.
    """
    order = canonical_order(table.frame)
    found = model.predict(table.frame.iloc[order])
    predictions = np.empty_like(found)
    predictions[order] = found
    return predictions, sha256(repr(found.tolist()).encode()).hexdigest()


def fitted(job: Job, table: Table, schema: DatasetSchema | None = None) -> Model:
    """Fit the configured model; `schema` says what it sees where that is not the dataset's own."""
    raw = job.config.dataset
    made = build(job.config.model, schema or raw, job.config.seed, learn=job.config.encoder.learn)
    if schema is not None and isinstance(made, EncodedModel | JointModel):
        made.generalised = tuple(each.name for each in schema.used if _domain(each) != _domain(raw.column(each.name)))
    job.brought(getattr(made, "code", ()))
    model = made.fit(table)
    job.record.note(warnings=list(model.notes))
    job.read(list(getattr(model, "inputs", ())))
    return model


def save(job: Job, model: Model, *, raw: bool) -> list[Path]:
    """Write the model that the run keeps. It is raw where it saw raw rows, or learned an encoding from them.

    Of a model that came trained only its description is written, and nothing is known of the rows it was trained on.
    """
    files = model.save(job.record.path("model/model.json").parent)
    for path in files:
        job.record.output(path, release="raw" if raw or model.learned else "releasable" if model.trains else "internal")
    if raw or model.learned:
        why = "was trained on raw rows" if raw else f"holds values learned from rows: {', '.join(model.learned)}"
        job.record.note(warnings=[f"the model {why}; its files are of class raw"])
    return files


def _domain(column: Column) -> tuple[object, ...]:
    return column.dtype, column.values, column.min, column.max
