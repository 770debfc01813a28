"""The stage in which sites train together."""

from components.data import Table
from components.dp.declarations import Noised
from components.federation.accounts import Accounts
from components.federation.checkpoint import HISTORY, STATE, Keeper
from components.federation.stage import Federated, Sites, federate
from runner import canonical
from runner.accounted import Book
from runner.comparing import Compared, compared, section, write
from runner.facts import side_metrics
from runner.job import Job
from runner.modelling import save
from runner.partners import brought_by
from schemas.tables import Metric

CHECKPOINT = "federation/checkpoint"
"""Folder in which a run in the making keeps its training, for as long as it lasts."""

FEWEST = 10
"""Test rows below which a site tells no figure of them: of a few rows it would say how single ones came out."""


def federation(job: Job, book: Book, test: Table) -> tuple[Federated, Accounts, Compared | None]:
    """Train together, settle the accounts, and write what happened.

    Of a comparison, whose scenarios are measured on the test rows as the model sees them, the first scenario at the
    run's own seed is what the run keeps.
    """
    config, some = job.config, book.some
    with job.stage("federation") as note:
        bring, several = brought_by(some, book.found), None
        if config.comparison is None:
            done = _trained(job, book, bring)
        else:
            several = compared(job, bring, book, test)
            done = several.kept
            write(job, several, bring)
        figures = _at_sites(done, book)
        settled = book.settle(done)
        raw = book.found is None and (book.privacy is None or bool(settled.reasons))
        files = save(job, done.model, raw=raw)
        if several is not None:
            job.record.note(federation={"comparison": section(several, config.comparison.equalise)})
        job.measured(figures)
        note.facts = {"rounds": len(done.training.rounds), "clients": len(done.training.clients)}
        note.outputs = {path.name: canonical.digest_file(path) for path in files}
    return done, settled, several


def _trained(job: Job, book: Book, bring: Sites) -> Federated:
    """Train together, and keep every round that is over for as long as the run lasts."""
    config, privacy = job.config, job.config.dp if isinstance(job.config.dp, Noised) else None
    state, history = (job.record.passing(f"{CHECKPOINT}/{name}") for name in (STATE, HISTORY))
    return federate(
        config.federation,
        privacy,
        config.model,
        bring,
        config.seed,
        wire=book.some.wire,
        keeper=Keeper(state, history),
        began=lambda under: book.began(under, privacy),
    )


def _at_sites(done: Federated, book: Book) -> list[Metric]:
    """Let each site measure the model on its own test rows, and tell what it found where it has enough of them."""
    last, metrics, found = len(done.training.rounds), [], book.found
    for site in book.some.sites:
        if len(site.test.frame) >= FEWEST:
            test = site.test if found is None or found.seen is None else found.seen(site.test)
            own = side_metrics(f"client:{site.name}", done.model, test, "test")[0]
            content = canonical.plain([each.model_dump() for each in own])
            told = book.some.wire.to_server(last, site.name, "figures", content)
            metrics += [Metric.model_validate(each) for each in told]
    return metrics
