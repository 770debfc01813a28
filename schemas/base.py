"""The base of every typed contract: strict, closed and immutable."""

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


Text = Annotated[str, AfterValidator(_nfc)]
"""Text in Unicode NFC, as the cells and headers it is compared with."""


class Contract(BaseModel):
    """A pydantic model that refuses unknown keys and converts nothing silently.

    Strict means that ``1e3``, ``5.0``, ``'5'`` and ``true`` are no whole numbers; a whole number where a
    real one is asked for is fine.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, validate_default=True, allow_inf_nan=False)
