"""The stage in which sites train together, and what of that is written down."""

from dataclasses import asdict, fields

import pandas as pd

from components.data import Table
from components.dp.declarations import Noised
from components.federation.accounts import Accounts, accounts
from components.federation.checkpoint import save as save_checkpoint
from components.federation.drift.picture import picture
from components.federation.drift.table import table as drift_table
from components.federation.harmonising.outcome import Harmonisation
from components.federation.messages import KINDS, Crossing, Wire
from components.federation.setting import setting_of
from components.federation.stage import Federated, Sites, federate
from runner import canonical
from runner.comparing import Compared, compared, section, write
from runner.facts import side_metrics
from runner.federated_record import (
    federation_metrics,
    federation_section,
    federation_warnings,
    privacy_section,
    rounds_of,
)
from runner.job import Job
from runner.modelling import save
from runner.partners import Partners, brought_by
from schemas.ledger import LEDGER_COLUMNS
from schemas.record import FederatedRound
from schemas.tables import Metric

ABSENT = "none"
CHECKPOINT = "federation/checkpoint.npz"
"""Where a run in the making keeps the last round that is over, for as long as it lasts."""

FEWEST = 10
"""Test rows below which a site tells no figure of them: of a few rows it would say how single ones came out."""


def federation(
    job: Job, some: Partners, found: Harmonisation | None, test: Table
) -> tuple[Federated, Accounts, Compared | None]:
    """Train together, write what happened, and settle the accounts.

    Of a comparison, whose scenarios are measured on the test rows as the model sees them, the first scenario at the
    run's own seed is what the run keeps.
    """
    config = job.config
    with job.stage("federation") as note:
        bring, several = brought_by(some, found), None
        if config.comparison is None:
            privacy = _privacy(job)
            done = _trained(job, bring, some.wire, privacy)
        else:
            several = compared(job, bring, some.wire, test)
            privacy, done = several.privacy, several.kept
            write(job, several, bring)
        setting = (
            None if privacy is None else setting_of(privacy, config.federation, learned_encoder=config.encoder.learn)
        )
        figures = at_sites(done, some, found)
        settled = accounts(done, privacy, setting, others=0 if several is None else len(several.trials) - 1)
        raw = found is None and (privacy is None or bool(settled.reasons))
        files = save(job, done.model, raw=raw)
        _write(job, done, settled)
        job.record.note(
            federation=federation_section(job, some, found, done)
            | ({} if several is None else {"comparison": section(several, config.comparison.equalise)}),
            differential_privacy=None if privacy is None else privacy_section(privacy, done, settled),
            warnings=federation_warnings(some, done, privacy, settled),
        )
        job.measured([*federation_metrics(done, settled), *figures])
        note.facts = {"rounds": len(done.training.rounds), "clients": len(done.training.clients)}
        note.outputs = {path.name: canonical.digest_file(path) for path in files}
    return done, settled, several


def _trained(job: Job, bring: Sites, wire: Wire, privacy: Noised | None) -> Federated:
    """Train together, and keep the last round that is over for as long as the run lasts."""
    config, kept = job.config, job.record.passing(CHECKPOINT)
    return federate(
        config.federation,
        privacy,
        config.model,
        bring,
        config.seed,
        wire=wire,
        after_round=lambda training: save_checkpoint(kept, training),
    )


def _privacy(job: Job) -> Noised | None:
    return job.config.dp if isinstance(job.config.dp, Noised) else None


def _write(job: Job, done: Federated, settled: Accounts) -> None:
    """Write the ledger, the rounds, the messages, and what the drift check found."""
    rounds = [
        {name: canonical.dumps(cell).decode() if isinstance(cell, list) else cell for name, cell in each}
        for each in rounds_of(done)
    ]
    names_of_fields = [each.name for each in fields(Crossing)]
    crossings = pd.DataFrame([asdict(each) for each in done.training.wire.crossings], columns=names_of_fields)
    about = {kind: KINDS[kind].cover for kind in KINDS}
    tables = {
        "ledger.csv": pd.DataFrame([row.model_dump() for row in settled.ledger], columns=list(LEDGER_COLUMNS)),
        "federation/rounds.csv": pd.DataFrame(rounds, columns=list(FederatedRound.model_fields)),
        "federation/messages.csv": crossings.assign(cover=crossings["kind"].map(about)),
    }
    checked = [(each.number, each.closed.checked) for each in done.training.rounds if each.closed.checked is not None]
    if checked:
        tables["federation/drift.csv"] = drift_table(checked)
        path = job.record.path("federation/drift.svg")
        path.write_text(picture(tables["federation/drift.csv"]), encoding="utf-8")
        job.record.output(path, release="internal")
    for name, table in tables.items():
        path = job.record.path(name)
        table.to_csv(path, index=False, lineterminator="\n")
        job.record.output(path, release="internal", rows=len(table))


def at_sites(done: Federated, some: Partners, found: Harmonisation | None) -> list[Metric]:
    """Let each site measure the model on its own test rows, and tell what it found where it has enough of them."""
    last, metrics = len(done.training.rounds), []
    for site in some.sites:
        if len(site.test.frame) >= FEWEST:
            test = site.test if found is None or found.seen is None else found.seen(site.test)
            own = side_metrics(f"client:{site.name}", done.model, test, "test")[0]
            told = some.wire.to_server(last, site.name, "figures", canonical.plain([each.model_dump() for each in own]))
            metrics += [Metric.model_validate(each) for each in told]
    return metrics
