"""The `sql` source: what a database answers to one query. Nothing is ever committed, and SQLite is opened read-only."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from components.data.declarations import Sql
from components.data.extract import Extract, Header, InputFact, cells_of_objects, content_digest
from components.data.files import located, no_rows
from schemas.faults import DataError, Fault

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, CursorResult

QUERY = "dataset.source.query"


def read(params: Sql, base: Path) -> Extract:
    """Run the query and take all rows.

    Parameters
    ----------
    params : Sql
    base : Path
        The folder that the path of an SQLite file starts from.

    Returns
    -------
    Extract
        The input's uri is the URL with password and options left out; its digest is of the content.

    Raises
    ------
    DataError
        SQLAlchemy or the driver not installed, no connection, a query that fails or returns no table, no rows. No
        message holds the URL or the driver's own words, which may hold secrets and cells.
    """
    with _answer(params, base) as (_, result):
        names = tuple(result.keys())
        rows = [tuple(row) for row in result]
    if not rows:
        raise no_rows(QUERY)
    columns = tuple(cells_of_objects(column) for column in zip(*rows, strict=True))
    fact = InputFact(_shown(params), None, content_digest(names, columns), len(rows), len(names))
    return Extract(names, columns, len(rows), (fact,))


def header(params: Sql, base: Path) -> Header:
    """Return the names the query answers with, and how many rows, counted by the database."""
    with _answer(params, base) as (connection, result):
        names = tuple(result.keys())
        result.close()
        query = params.query.rstrip().rstrip(";")
        count = connection.exec_driver_sql(f"SELECT COUNT(*) FROM ({query}\n) AS counted")  # noqa: S608  # the user's own
        rows = int(count.scalar_one())
    if rows == 0:
        raise no_rows(QUERY)
    return Header(names, rows)


@contextmanager
def _answer(params: Sql, base: Path) -> Iterator[tuple["Connection", "CursorResult[tuple[object, ...]]"]]:
    """Yield connection and result of the query; translate every failure, and roll back at the end."""
    try:
        from sqlalchemy import create_engine
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
        from sqlalchemy.pool import NullPool
    except ModuleNotFoundError:
        raise DataError(
            Fault("dataset.source.name", "reading databases needs SQLAlchemy", "", "pip install 'privacy-runner[sql]'")
        ) from None
    fault: Fault | None = None
    try:
        url = _url(params, base)
        with create_engine(url, poolclass=NullPool).connect() as connection:
            result = connection.exec_driver_sql(params.query)
            if not result.returns_rows:
                raise DataError(Fault(QUERY, "returns no table", "one statement that returns rows (SELECT ...)"))
            yield connection, result
    except ModuleNotFoundError as error:
        fault = Fault("dataset.source.url", f"needs the driver '{error.name}', which is not installed")
    except (ArgumentError, NoSuchModuleError, ValueError):
        fault = Fault("dataset.source.url", "is no SQLAlchemy URL", "dialect://user:password@host/database")
    except SQLAlchemyError as error:
        kind = type(error).__name__
        fault = Fault(
            "dataset.source", f"the database refused ({kind})", "", "try url and query in the database's own client"
        )
    if fault is not None:
        raise DataError(fault) from None


def _url(params: Sql, base: Path) -> "URL":
    """Parse the URL; an SQLite file is looked for from `base`, must exist, and is opened read-only."""
    from sqlalchemy import make_url

    url = make_url(params.url)
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:" or "uri" in url.query:
        return url
    path = located(url.database, base).absolute()
    return url.set(database=path.as_uri(), query={**url.query, "mode": "ro", "uri": "true"})


def _shown(params: Sql) -> str:
    """Return the URL without password and options; options may hold secrets as well."""
    from sqlalchemy import make_url

    return make_url(params.url).set(query={}).render_as_string(hide_password=True)
