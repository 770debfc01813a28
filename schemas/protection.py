"""Data protection as those responsible declare it: asked in the configuration, shown in the record."""

from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from schemas.base import Contract


def _iso_date(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise PydanticCustomError("date", "must be an ISO date such as 2031-12-31") from None
    return text


IsoDate = Annotated[str, AfterValidator(_iso_date)]


class Protection(Contract):
    """Data protection as declared by those responsible; shown even when empty."""

    purpose: str | None = None
    legal_basis: str | None = None
    controller: str | None = None
    recipient: str | None = None
    release_model: Literal["public", "agreement", "enclave"] | None = None
    data_subjects: list[str] = Field(default=[], description="categories of persons in the table")
    retention_date: IsoDate | None = None
    dpia_reference: str | None = None
    next_review_date: IsoDate | None = None
