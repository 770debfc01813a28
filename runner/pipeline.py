"""One run from top to bottom: read, split, fit, anonymise, fit again, minimise, assess; each stage a function."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

import yaml

from components.anonymization import Given, Release, measure
from components.anonymization.criteria.sensitive import table_counts
from components.anonymization.hierarchies.checks import check_coverage
from components.anonymization.population import refuse_strangers
from components.brought import component_code
from components.data import Reading, Split, Table, header, read, split
from components.federation.model import INITIAL
from components.federation.partitioning.declarations import STREAM as PARTITION
from components.federation.rounds import COHORT
from components.minimization.asking import Asked
from components.minimization.declarations import STREAMS as MINIMIZATION_STREAMS
from components.minimization.minimise import Outcome, model_of
from components.models import Model, reference_models
from components.randomness import derived_seed
from components.registry import load
from runner import canonical
from runner.accounted import Book, accounted
from runner.aims import Skipped, passed_over
from runner.alone import alone
from runner.asked import asked_line
from runner.comparing import Compared
from runner.comparing import lines as comparison_lines
from runner.compose import Composed
from runner.exposure import exposure
from runner.facts import (
    FAULTS,
    criteria_lines,
    digests_of,
    disclosures,
    failing_rows,
    no_better,
    not_claimed,
    privacy_metrics,
    quality_metrics,
    rows_and_columns,
    search_lines,
    unfit_sections,
    utility_metrics,
)
from runner.federated_record import federation_lines
from runner.federating import federation
from runner.folder import Workspace
from runner.given import read_given
from runner.job import Job
from runner.minimizing import Goal, goal, minimization
from runner.modelling import fitted, predicted, save
from runner.outcome import RECORD_NOTE
from runner.partners import Partners, harmonised, partners, rows_behind
from runner.plan import require_settings
from runner.record import opening, reading_sections
from runner.recording import recording
from runner.releasing import measure_written, refuse_identifiers, table_digest, write_table
from runner.secrets import mask, mask_tree, secrets
from runner.terminal import close, screen, summary
from schemas.faults import DataError
from schemas.run_config import RunConfig
from schemas.table import validate

STAGES = ("dataset", "split", "model", "anonymization", "retraining", "federation", "minimization", "assessment")
STREAMS = ("split", "model", "model-order", "anonymization")
FEDERATION_STREAMS = (PARTITION, INITIAL, COHORT)
"""Beside those that are derived for each client and round: splits, batches and simulated attacks."""


def run(composed: Composed) -> int:
    """Run a composed configuration in a new run folder and print its closing lines.

    Returns
    -------
    int
        Exit code 0.

    Raises
    ------
    RunnerError
        What was foreseen to go wrong. The folder is finished all the same, and its record says so.
    """
    output_dir, name = composed.base / composed.config.output.dir, composed.config.name
    return _recorded(composed, lambda: Workspace.open(output_dir, name))


def run_job(composed: Composed, sweep: Path, number: int) -> int:
    """Run a composed configuration as one job of a sweep (see `run`)."""
    return _recorded(composed, lambda: Workspace.open_job(sweep, number))


def _recorded(composed: Composed, open_workspace: Callable[[], Workspace]) -> int:
    config, hidden = composed.config, secrets(composed)
    code = [each for entry in composed.plugins for each in component_code(entry)]
    sections = opening(
        seed=config.seed,
        dataset=config.dataset,
        resolved=composed.resolved,
        as_written=composed.as_written,
        argv=sys.argv[1:],
        overrides=composed.overrides,
        choices=composed.choices,
        files=[(file.path, file.sha256) for file in composed.files],
        plugins=[asdict(each) for each in code],
        streams={purpose: derived_seed(config.seed, purpose) for purpose in _streams(config)},
    )
    with (
        open_workspace() as workspace,
        _told_where(workspace),
        recording(workspace, sections, mask=lambda text: mask(text, hidden)) as record,
        screen(len(STAGES)) as shown,
    ):
        settings = record.path("config.yaml")
        masked = mask_tree(composed.resolved, hidden)
        settings.write_text(yaml.safe_dump(masked, sort_keys=False, allow_unicode=True), encoding="utf-8")
        record.output(settings, release="internal")
        record.note(limits=not_claimed(config))
        lines = _flow(Job(composed, record, shown, code=code))
    close(lines, workspace.final)
    return 0


def _streams(config: RunConfig) -> tuple[str, ...]:
    """Return the names of the random streams that a run may draw from."""
    minimised = () if passed_over(config) else MINIMIZATION_STREAMS
    federated = () if alone(config) else FEDERATION_STREAMS
    return (*STREAMS, *minimised, *federated)


@contextmanager
def _told_where(workspace: Workspace) -> Iterator[None]:
    """Let whoever reports an error say where its record stands."""
    try:
        yield
    except BaseException as error:
        if workspace.final.exists():
            error.add_note(f"{RECORD_NOTE} {workspace.final}")
        raise


def _flow(job: Job) -> list[str]:
    reading, given = _dataset(job)
    parts, some, aim = _split(job, reading.table, given)
    original = _model(job, parts.train, keep=some is None)
    with accounted(job, some) as book:
        release = _anonymization(job, parts.train, book, original, given)
        retrained = _retraining(job, release, original, keep=some is None)
        together, lines, several = _federation(job, book, parts, release)
    outcome = minimization(job, aim, _kept(job, original, retrained, together, release))
    _assessment(job, parts, release, {"original": original, "anonymized": retrained, "federated": together}, outcome)
    if release is not None:
        job.record.note(flow=rows_and_columns(reading, parts, release))
    return summary(
        dataset=job.config.dataset,
        rows=len(reading.table.frame),
        test=len(parts.test.frame),
        metrics=job.metrics,
        how=[
            *([] if release is None else [*criteria_lines(release), *search_lines(release)]),
            *lines,
            *([] if several is None else comparison_lines(job, several)),
            *_asked(aim, outcome),
        ],
        # What is to be said of the result comes before what is to be said of a hierarchy's labels.
        warnings=sorted(job.record.warnings, key=_hierarchy_warnings(given).__contains__),
    )


def _asked(aim: Goal | Skipped, outcome: Outcome | None) -> list[tuple[str, str]]:
    """Return what the closing lines say of what is collected; nothing where the configuration left it out."""
    if outcome is not None:
        return [("asked", asked_line(outcome))]
    return [("asked", f"everything: {aim.reason}")] if isinstance(aim, Skipped) and aim.by_rows else []


def _hierarchy_warnings(given: Given) -> list[str]:
    return [f"{each}" for one in given.hierarchies.values() for each in one.warnings]


def _dataset(job: Job) -> tuple[Reading, Given]:
    """Read the table, checked against its schema, and what the method draws on beside it, checked against the table."""
    config = job.config
    with job.stage("dataset") as note:
        require_settings(job.composed, header(config.dataset, config.dataset.source, job.composed.base))
        given = read_given(job.composed, seed=derived_seed(config.seed, "anonymization"))
        try:
            reading = read(config.dataset, config.dataset.source, job.composed.base)
        except DataError as error:
            job.record.note(**unfit_sections(error, given.inputs))
            if len(rows := failing_rows(error)):
                path = job.record.path(FAULTS)
                rows.to_csv(path, index=False, lineterminator="\n")
                job.record.output(path, release="internal", rows=len(rows))
            raise
        job.record.note(**reading_sections(reading, given.inputs))
        job.inputs.extend([*reading.inputs, *given.inputs])
        note.facts = {"rows": len(reading.table.frame), "columns": len(reading.table.frame.columns)}
        note.inputs = digests_of([*reading.inputs, *given.inputs])
        note.outputs = {"table": table_digest(reading.table)}
        job.record.note(warnings=_hierarchy_warnings(given))
        check_coverage(reading.table, given.hierarchies)
    return reading, given


def _split(job: Job, table: Table, given: Given) -> tuple[Split, Partners | None, Goal | Skipped]:
    """Part train from test rows, and refuse what can't be reached on either before any work is done.

    In a federation each site does so with its own rows. The test rows are parted once more for minimisation: returned
    is its goal, or why there is none.
    """
    with job.stage("split") as note:
        note.inputs = {"table": table_digest(table)}
        some = None if alone(job.config) else partners(job, table)
        parts = split(table, job.config.seed) if some is None else some.parts
        note.facts = {"train": len(parts.train.frame), "test": len(parts.test.frame)}
        note.outputs = {"train": table_digest(parts.train), "test": table_digest(parts.test)}
        if given.population is not None:
            refuse_strangers(parts.train, given.population)
        precheck = getattr(job.config.anonymization, "precheck", "")
        if precheck and some is None:
            load(precheck)(job.config.anonymization, parts.train, given)
        aim = goal(job.config, parts)
    return parts, some, aim


def _model(job: Job, train: Table, *, keep: bool) -> Model | None:
    """Fit the model on the raw train rows: the original that anonymisation follows and retraining is held against.

    Of a federation it is a yardstick that nobody could have: no model of rows that lie in several places.
    """
    if job.config.model.name == "none":
        job.skip("model", "model=none")
        return None
    with job.stage("model") as note:
        model = fitted(job, train)
        note.inputs = {"train": table_digest(train)}
        note.outputs = {"predictions": predicted(model, train)[1]}
        if keep and (job.config.anonymization.name == "none" or not model.trains):
            save(job, model, raw=model.trains)
    return model


def _anonymization(job: Job, train: Table, book: Book | None, original: Model | None, given: Given) -> Release | None:
    """Anonymise the train rows, write them, and measure what was written; in a federation each site does its own."""
    config = job.config
    if config.anonymization.name == "none":
        job.skip("anonymization", "anonymization=none")
        if config.dataset.quasi_identifiers:
            job.measured(privacy_metrics(measure(train.frame, train.schema), "before"))
        return None
    with job.stage("anonymization") as note:
        note.inputs = {"train": table_digest(train)}
        release = _released(job, train, book, original, given)
        if book is not None and book.found is not None and book.found.left_out:
            train = rows_behind(book.found)
        refuse_identifiers(release, train, getattr(config.anonymization, "identifiers", {}))
        checks = validate(release.table.frame, release.table.schema, what="release")
        written = write_table(release.table, job.record.path)
        after = measure_written(written, release, train)
        if after != release.after:
            raise RuntimeError("the release on disk measures otherwise than the release in memory")
        for path in (written.parquet, written.csv):  # declared when measured, so that no failed run keeps them
            job.record.output(path, release="releasable", rows=len(release.table.frame))
        note.outputs = {"release": table_digest(release.table)}
        _write_how(job, release, train)
        exposed = exposure(train, release, given, config.dataset.population)
        path = job.record.path("anonymization/subset_risk.csv")
        exposed.subsets.to_csv(path, index=False, lineterminator="\n")
        job.record.output(path, release="internal", rows=len(exposed.subsets))
        note.facts = {"k": after.k, "classes": after.classes, "suppressed": release.suppressed}
        job.record.note(
            anonymization={
                "method": config.anonymization.name,
                "parameters": config.anonymization.model_dump(),
                "transformation": release.transformation,
                "suppressed": release.suppressed,
                "before": {**asdict(release.before), **exposed.before},
                "after": {**asdict(after), **exposed.after},
            },
            validation=[{**asdict(check), "table": "release"} for check in checks],
            warnings=[*release.warnings, *exposed.warnings, *disclosures(after)],
        )
        figures = [*privacy_metrics(release.before, "before"), *privacy_metrics(after, "after")]
        job.measured([*figures, *exposed.metrics, *quality_metrics(release)])
    return release


def _released(job: Job, train: Table, book: Book | None, original: Model | None, given: Given) -> Release:
    if book is not None:
        release, book.found = harmonised(job, book.some, given)
        return release
    predictions = None if original is None else predicted(original, train)[0]
    anonymise = load(job.config.anonymization.component)
    made: Release = anonymise(job.config.anonymization, train, replace(given, predictions=predictions))
    return made


def _write_how(job: Job, release: Release, train: Table) -> None:
    """Write every generalisation that was tried, the transformation in the form that others can apply, and counts.

    With the counts of sensitive values, the release alone is enough to check what compares it with the whole table.
    """
    counts = table_counts(release.table.frame, release.table.schema, train.frame)
    if len(counts):
        path = job.record.path("anonymization/sensitive_counts.csv")
        counts.to_csv(path, index=False, lineterminator="\n")
        job.record.output(path, release="internal", rows=len(counts))
    if release.nodes is not None:
        path = job.record.path("anonymization/nodes.csv")
        release.nodes.to_csv(path, index=False, lineterminator="\n")
        job.record.output(path, release="internal", rows=len(release.nodes))
    if release.agreed is not None:
        path = job.record.path("anonymization/transformation.json")
        path.write_bytes(canonical.dumps(canonical.plain(release.agreed)))
        job.record.output(path, release="releasable")


def _retraining(job: Job, release: Release | None, original: Model | None, *, keep: bool) -> Model | None:
    """Fit the same model anew, on released rows alone; it is the model that the run keeps, unless sites train one."""
    if release is None or original is None:
        job.skip("retraining", "no release to train on" if release is None else "model=none")
        return None
    if not original.trains:
        job.skip("retraining", f"model={job.config.model.name} comes trained")
        return None
    with job.stage("retraining") as note:
        model = fitted(job, release.training, None if release.seen is None else release.training.schema)
        note.inputs = {"training": table_digest(release.training)}
        if not keep:
            note.outputs = {"predictions": predicted(model, release.training)[1]}
            return model
        home = job.record.path("model/model.json").parent
        files = {path.relative_to(home).as_posix(): path for path in save(job, model, raw=False)}
        note.outputs = {name: sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    return model


def _federation(
    job: Job, book: Book | None, parts: Split, release: Release | None
) -> tuple[Model | None, list[tuple[str, str]], Compared | None]:
    """Let the sites train together; the model that comes of it is the one that the run keeps."""
    if book is None:
        job.skip("federation", alone(job.config))
        return None, [], None
    done, settled, several = federation(job, book, _seen(parts, release).test)
    return done.model, federation_lines(done, settled) if several is None else [], several


def _kept(
    job: Job, original: Model | None, retrained: Model | None, together: Model | None, release: Release | None
) -> Asked | None:
    """Return the model that the run keeps, with the way that raw rows come to it."""
    if together is not None:
        return Asked(together, job.config.dataset, None if release is None else release.seen)
    if retrained is not None and release is not None:
        return Asked(retrained, job.config.dataset, release.seen)
    return None if original is None else Asked(original, job.config.dataset)


def _assessment(
    job: Job,
    parts: Split,
    release: Release | None,
    models: dict[str, Model | None],
    outcome: Outcome | None,
) -> None:
    """Measure every model, and the two reference lines, on the same rows; each sees them as it was taught to.

    With what is collected after minimisation the model is measured on all test rows, so that its figures can be held
    against the others. Half of these said where the search stops, by the model's predictions and not by the target.
    """
    if job.config.model.name == "none":
        job.skip("assessment", "model=none")
        return
    with job.stage("assessment") as note:
        note.inputs = {"train": table_digest(parts.train), "test": table_digest(parts.test)}
        lines = reference_models(job.config.dataset, job.config.seed, learn=job.config.encoder.learn)
        references = {scope: line.fit(parts.train) for scope, line in lines.items()}
        told = {"minimized": None if outcome is None else model_of(outcome)}
        for scope, model in {**references, **models, **told}.items():
            if model is not None:
                rows = _seen(parts, release) if scope in {"anonymized", "federated"} else parts
                metrics, warnings = utility_metrics(scope, model, rows)
                job.measured(metrics)
                job.record.note(warnings=warnings)
        job.record.note(warnings=no_better(job.metrics, job.config.dataset.task))


def _seen(parts: Split, release: Release | None) -> Split:
    """Return the rows as the retrained model sees them."""
    if release is None or release.seen is None:
        return parts
    return Split(train=release.seen(parts.train), test=release.seen(parts.test))
