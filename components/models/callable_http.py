"""A scoring URL as a function of rows.

The protocol is that of MLflow's scoring server: ``{"dataframe_split": {"columns": [...], "data": [[...], ...]}}`` is
posted, and ``{"predictions": [...]}``, one entry a row, comes back.
"""

import json
import os
import time
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException, HTTPMessage, HTTPResponse
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import numpy as np
import pandas as pd

from components.models.target import Numbers
from schemas.faults import ConfigurationError, Fault

ANSWER_LIMIT = 64 << 20
"""Bytes of one answer; a longer one is no list of predictions for a batch."""

PIECE = 1 << 16

PAUSE = 0.1
"""Seconds before a batch is sent again; doubled each time."""

AGAIN = frozenset({429, 502, 503, 504})
"""Statuses that say: later, perhaps."""

PLACE = "model.url"


@dataclass(frozen=True, slots=True)
class ScoringUrl:
    """Asks a URL for the predictions of rows; the URL sees every cell of the columns that it is asked with.

    Parameters
    ----------
    url : str
        ``http`` or ``https``.
    timeout_seconds : float
        Longest wait for one batch: for any word of the server, and for the whole of its answer.
    batch_size : int
        Rows a request.
    retries : int
        How often a batch is sent again where the server can't be reached, takes too long or answers 429, 502, 503
        or 504.
    token_variable : str, optional
        Environment variable with a bearer token. It is read when a batch is sent, and kept nowhere.
    """

    url: str
    timeout_seconds: float = 30.0
    batch_size: int = 1000
    retries: int = 2
    token_variable: str | None = None

    def __call__(self, frame: pd.DataFrame) -> Numbers:
        """Return the predictions of all rows, as they came.

        Raises
        ------
        ConfigurationError
            The server can't be reached, refuses, or answers something else than one prediction a row.
        """
        columns = np.column_stack([_plain(frame[name]) for name in frame.columns])
        parts: list[Any] = []
        for start in range(0, len(columns), self.batch_size):
            rows = columns[start : start + self.batch_size].tolist()
            asked = {"dataframe_split": {"columns": frame.columns.tolist(), "data": rows}}
            parts += _predictions(self._answer(json.dumps(asked, allow_nan=False).encode()), len(rows))
        return _array(parts)

    def _answer(self, body: bytes) -> bytes:
        """Post one batch, again where that may help."""
        headers = {"Content-Type": "application/json", "Accept": "application/json", **_bearer(self.token_variable)}
        for attempt in range(self.retries + 1):
            request = Request(self.url, body, headers, method="POST")  # noqa: S310  # declared as http(s)
            try:
                return _post(request, self.timeout_seconds)
            except HTTPError as error:
                with error:
                    fault = _refusal(error)
                if error.code not in AGAIN:
                    break
            except (URLError, OSError, HTTPException) as error:
                reason = getattr(error, "reason", error)
                late = isinstance(reason, TimeoutError)
                problem = f"no answer in {self.timeout_seconds:g} s" if late else "can't be reached"
                fault = Fault(PLACE, f"{problem} ({type(reason).__name__})", remedy="start the server, or mend the URL")
            if attempt < self.retries:
                time.sleep(PAUSE * 2**attempt)
        raise ConfigurationError(fault) from None


def token_fault(variable: str | None) -> Fault | None:
    """Say why an environment variable holds no bearer token, without saying what it holds."""
    if variable is None:
        return None
    token = os.environ.get(variable, "")
    if token and token.isascii() and token.isprintable() and " " not in token:
        return None
    problem = f"the environment variable {variable} {'holds no token' if token else 'is not set'}"
    return Fault("model.token_variable", problem, "printable ASCII without blanks", f"set {variable}")


def _bearer(variable: str | None) -> dict[str, str]:
    if fault := token_fault(variable):
        raise ConfigurationError(fault)
    return {} if variable is None else {"Authorization": f"Bearer {os.environ[variable]}"}


class _SameServer(HTTPRedirectHandler):
    """Follows a redirect that keeps the method, the scheme, the host and the port; rows go nowhere else."""

    def redirect_request(
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,  # noqa: ARG002  # as urllib calls it
        headers: HTTPMessage,
        newurl: str,
    ) -> Request | None:
        """Return the same request for the new URL, or refuse."""
        if code not in {HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT} or not _same(
            req.full_url, newurl
        ):
            raise HTTPError(req.full_url, code, "redirected", headers, fp)
        return Request(newurl, req.data, dict(req.header_items()), method="POST")  # noqa: S310  # the same server


def _same(one: str, other: str) -> bool:
    return urlsplit(one)[:2] == urlsplit(other)[:2]


def _post(request: Request, seconds: float) -> bytes:
    """Return the body of a 200; a server that only trickles is too late as well."""
    deadline = time.monotonic() + seconds
    content = bytearray()
    response: HTTPResponse
    with build_opener(_SameServer).open(request, timeout=seconds) as response:
        if response.status != HTTPStatus.OK:
            raise HTTPError(request.full_url, response.status, "", response.headers, None)
        while piece := response.read1(PIECE):
            content += piece
            if len(content) > ANSWER_LIMIT:
                raise ConfigurationError(Fault(PLACE, f"answers with more than {ANSWER_LIMIT >> 20} MiB"))
            if time.monotonic() > deadline:
                raise TimeoutError
    return bytes(content)


def _refusal(error: HTTPError) -> Fault:
    if HTTPStatus.MULTIPLE_CHOICES <= error.code < HTTPStatus.BAD_REQUEST:
        return Fault(
            PLACE,
            f"redirects elsewhere ({error.code})",
            "the same scheme, host and port, and status 307 or 308",
            "name the URL that answers itself",
        )
    remedy = {401: "set model.token_variable", 403: "set model.token_variable"}.get(error.code, "see the server's log")
    words = error.read(PIECE).decode(errors="replace") if error.fp else ""
    return Fault(PLACE, f"answered with status {error.code}", "200", remedy, values=words)


def _predictions(answer: bytes, rows: int) -> list[Any]:
    """Return the list in an answer, one entry a row."""
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        raise ConfigurationError(Fault(PLACE, "the answer is no JSON", 'as {"predictions": [...]}')) from None
    listed = found.get("predictions") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        raise ConfigurationError(Fault(PLACE, "the answer has no list of predictions", 'as {"predictions": [...]}'))
    if len(listed) != rows:
        raise ConfigurationError(Fault(PLACE, f"{len(listed)} predictions for {rows} rows", "one a row"))
    return listed


def _array(predictions: list[Any]) -> Numbers:
    """Return predictions as an array of objects, of shape (rows,) or (rows, numbers of a row)."""
    kinds = set(map(type, predictions))
    if kinds & {list, dict} and (kinds != {list} or len(set(map(len, predictions))) > 1):
        raise ConfigurationError(Fault(PLACE, "the predictions differ in shape", "one value, or one list, a row"))
    return np.array(predictions, dtype=object)


def _plain(cells: pd.Series) -> Numbers:
    """Return cells as JSON can hold them: moments as ISO 8601, missing ones as null."""
    if pd.api.types.is_datetime64_any_dtype(cells.dtype):
        zoned = isinstance(cells.dtype, pd.DatetimeTZDtype)
        naive = cells.dt.tz_convert(None) if zoned else cells
        found = np.datetime_as_string(naive.to_numpy(), unit="us", timezone="UTC" if zoned else "naive").astype(object)
    else:
        found = np.array(cells.astype(object), dtype=object)
    found[cells.isna()] = None
    return found
