"""The accounts of a federation, which are settled and written whatever becomes of the run.

What crossed can't be taken back: a run that is interrupted, or fails, after sites have told something leaves its
ledger, its messages and its rounds like one that was completed.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields

import pandas as pd

from components.dp.declarations import Noised
from components.federation.accounts import Accounts, accounts, only_told
from components.federation.drift.picture import picture
from components.federation.drift.table import table as drift_table
from components.federation.harmonising.outcome import Harmonisation
from components.federation.messages import KINDS, Crossing
from components.federation.setting import setting_of
from components.federation.stage import Underway
from runner import canonical
from runner.federated_record import (
    federation_metrics,
    federation_section,
    federation_warnings,
    privacy_section,
    rounds_of,
)
from runner.job import Job
from runner.partners import Partners
from schemas.ledger import LEDGER_COLUMNS, LedgerRow
from schemas.record import FederatedRound

NOTHING_RELEASED = (
    "the run ended before training: no update was released; what sites told until then stands in "
    "federation/messages.csv and ledger.csv"
)


@dataclass
class Book:
    """What is known of a federation so far, for its accounts.

    Parameters
    ----------
    job : Job
    some : Partners
    found : Harmonisation or None
        The levels that were agreed on.
    under : Underway or None
        The training that the run keeps, from its beginning on.
    privacy : Noised or None
        Its noise.
    others : int
        Other trainings on the same rows.
    """

    job: Job
    some: Partners
    found: Harmonisation | None = None
    under: Underway | None = None
    privacy: Noised | None = None
    others: int = 0
    settled: bool = False

    def began(self, under: Underway, privacy: Noised | None) -> None:
        """Note that training begins."""
        self.under, self.privacy = under, privacy

    def settle(self, under: Underway) -> Accounts:
        """Settle the accounts of a training that is over or was cut off, and write all that happened.

        Parameters
        ----------
        under : Underway
        """
        config = self.job.config
        privacy = self.privacy
        setting = (
            None if privacy is None else setting_of(privacy, config.federation, learned_encoder=config.encoder.learn)
        )
        found = accounts(under, privacy, setting, others=self.others)
        with self.job.record.undivided():
            self._write(found.ledger, under)
            self.job.record.note(
                federation=federation_section(self.job, self.some, self.found, under),
                differential_privacy=None if privacy is None else privacy_section(privacy, under, found),
                warnings=federation_warnings(self.some, under, found),
            )
            self.job.measured(federation_metrics(under, found))
            self.settled = True
        return found

    def cut_off(self, error: BaseException) -> None:
        """Settle the accounts of a run that ends by an error, as far as it has come."""
        if self.under is None:
            if not self.some.wire.crossings:
                return
            with self.job.record.undivided():
                self._write(only_told(self.some.wire.crossings), None)
                self.job.record.note(warnings=[NOTHING_RELEASED])
            return
        training = self.under.training
        how = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        over = len(training.rounds) == training.schedule.rounds
        where = "after all rounds" if over else f"in round {len(training.rounds) + 1} of {training.schedule.rounds}"
        self.settle(Underway(training, self.under.guarded, f"{how} {where}"))

    def _write(self, ledger: list[LedgerRow], under: Underway | None) -> None:
        """Write the ledger, the messages, the rounds, and what the drift check found."""
        crossings = pd.DataFrame(
            [asdict(each) for each in self.some.wire.crossings], columns=[each.name for each in fields(Crossing)]
        )
        about = {kind: KINDS[kind].cover for kind in KINDS}
        tables = {
            "ledger.csv": pd.DataFrame([row.model_dump() for row in ledger], columns=list(LEDGER_COLUMNS)),
            "federation/messages.csv": crossings.assign(cover=crossings["kind"].map(about)),
        }
        if under is not None:
            rounds = [
                {name: canonical.dumps(cell).decode() if isinstance(cell, list) else cell for name, cell in each}
                for each in rounds_of(under)
            ]
            tables["federation/rounds.csv"] = pd.DataFrame(rounds, columns=list(FederatedRound.model_fields))
            checks = [(each.number, each.closed.checked) for each in under.training.rounds]
            checked = [(number, one) for number, one in checks if one is not None]
            if checked:
                tables["federation/drift.csv"] = drift_table(checked)
                path = self.job.record.path("federation/drift.svg")
                path.write_text(picture(tables["federation/drift.csv"]), encoding="utf-8")
                self.job.record.output(path, release="internal")
        for name, table in tables.items():
            path = self.job.record.path(name)
            table.to_csv(path, index=False, lineterminator="\n")
            self.job.record.output(path, release="internal", rows=len(table))


@contextmanager
def accounted(job: Job, some: Partners | None) -> Iterator[Book | None]:
    """Keep the accounts of what sites tell within the block, and settle them however it ends.

    Parameters
    ----------
    job : Job
    some : Partners or None
        None where rows lie at one place: then there are no accounts.
    """
    book = None if some is None else Book(job, some)
    try:
        yield book
    except BaseException as error:
        if book is not None and not book.settled:
            with suppress(Exception):  # the first error is the one that is told
                book.cut_off(error)
        raise
