"""The `excel` source: one sheet of an .xlsx workbook, its cells as typed as they are stored."""

import warnings
from pathlib import Path
from zipfile import BadZipFile

from components.data.declarations import Excel
from components.data.extract import Extract, InputFact, cells_of_objects
from components.data.files import facts, located, no_rows, unreadable
from schemas.faults import DataError, Fault
from schemas.wording import names as quoted

Row = tuple[object, ...]


def read(params: Excel, base: Path) -> Extract:
    """Read a sheet: its first row names the columns. Rows without any cell at the sheet's end are left out.

    Parameters
    ----------
    params : Excel
    base : Path
        The folder that a relative path starts from.

    Raises
    ------
    DataError
        Nothing there, no workbook, no such sheet, no rows, or openpyxl not installed.
    """
    path = located(params.path, base)
    try:
        size, digest = facts(path)
        rows = _rows(params, path)
    except ModuleNotFoundError:
        raise DataError(
            Fault(
                "dataset.source.name",
                "reading workbooks needs openpyxl",
                "",
                "pip install 'privacy-runner[excel]'",
            )
        ) from None
    except OSError as error:
        raise unreadable(params.path, error) from None
    while rows and all(cell is None for cell in rows[-1]):
        rows.pop()
    if len(rows) < 2:
        raise no_rows(f"file '{params.path}'")
    columns = _columns(rows)
    names = tuple("" if column[0] is None else str(column[0]) for column in columns)
    fact = InputFact(params.path, size, digest, len(rows) - 1, len(names))
    return Extract(names, tuple(cells_of_objects(column[1:]) for column in columns), len(rows) - 1, (fact,))


def _rows(params: Excel, path: Path) -> list[Row]:
    from openpyxl import load_workbook  # type: ignore[import-untyped]
    from openpyxl.utils.exceptions import InvalidFileException  # type: ignore[import-untyped]

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on styles and validations of no matter here
            with path.open("rb") as file:
                book = load_workbook(file, read_only=True, data_only=True)
                if params.sheet is not None and params.sheet not in book.sheetnames:
                    raise DataError(
                        Fault(
                            "dataset.source.sheet",
                            f"no sheet of that name in '{params.path}'",
                            f"one of {quoted(book.sheetnames)}",
                        )
                    )
                sheet = book.worksheets[0] if params.sheet is None else book[params.sheet]
                return list(sheet.iter_rows(values_only=True))
    except (BadZipFile, InvalidFileException, KeyError, ValueError, TypeError, IndexError, SyntaxError, EOFError):
        raise DataError(
            Fault(
                f"file '{params.path}'",
                "is no .xlsx workbook, or a damaged one",
                "",
                "save it as .xlsx, or check dataset.source.name",
            )
        ) from None


def _columns(rows: list[Row]) -> list[Row]:
    """Turn rows into columns of one length, without the empty columns that a sheet may have on its right."""
    width = max(map(len, rows))
    kept = list(zip(*(row + (None,) * (width - len(row)) for row in rows), strict=True))
    while all(cell is None for cell in kept[-1]):
        kept.pop()
    return kept
