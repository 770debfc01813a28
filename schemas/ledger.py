"""The ledger of a run: one row for everything that crossed between a client and the others, with what it cost."""

from typing import Literal

from pydantic import Field

from schemas.base import Contract
from schemas.tables import Real


class LedgerRow(Contract):
    """A row of ledger.csv."""

    client: str = Field(description="whose data it is about")
    kind: str = Field(description="what was released; 'all' is everything covered together")
    rounds: str = Field(default="", description="rounds of it, such as 1-10 or 1-4,6; empty before the first")
    mechanism: Literal["", "server", "distributed", "local", "record"] = Field(
        default="", description="where the noise was added; empty where there is none"
    )
    unit: Literal["", "client", "record"] = Field(default="", description="what is protected")
    relation: Literal["", "zero_out", "replace_table", "add_remove_record", "replace_record"] = Field(
        default="", description="what two neighbouring inputs differ in"
    )
    clip: float | None = Field(default=None, description="largest L2 norm of what the noise is added to; the last one")
    sensitivity: float | None = Field(default=None, description="in clips")
    multiplier: float | None = Field(default=None, description="standard deviation of the noise over the clip")
    rate: float | None = Field(default=None, description="sampling rate of Poisson batches; 1 without them")
    steps: int | None = Field(default=None, ge=0, description="noised releases in all")
    epsilon: Real | None = Field(default=None, description="of these releases together, against an outsider")
    epsilon_rdp: Real | None = Field(default=None, description="the same by Renyi DP, a looser check")
    epsilon_client: Real | None = Field(default=None, description="against another client; empty where none holds")
    epsilon_server: Real | None = Field(default=None, description="against the server; empty where none holds")
    delta: float | None = Field(default=None, description="of epsilon")
    basis: Literal["", "policy", "data-derived"] = Field(default="", description="where the multiplier came from")
    holds_against: str = Field(default="", description="outsider, client, server: those whom the noise stands between")
    covered: bool = Field(description="whether the guarantee covers it")
    note: str = Field(default="", description="why not, or what else is to be known")


LEDGER_COLUMNS: tuple[str, ...] = tuple(LedgerRow.model_fields)
"""The columns of ledger.csv, in order."""
