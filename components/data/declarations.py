"""Parameters of the table sources. Light on purpose: nothing but pydantic is imported."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from components.registry import Declaration


class SourceDeclaration(Declaration):
    """Base of the table sources.

    ``component`` names a function ``(params, base) -> Extract``; ``heading`` one ``(params, base) -> Header`` that
    reads names and row count without the cells. Without ``heading`` the whole table is read for them.
    """

    heading: ClassVar[str] = ""


def _tab(mark: object) -> object:
    r"""Read the two characters ``\t`` as a tab, since a shell can hardly write one."""
    return "\t" if mark == r"\t" else mark


Mark = Annotated[str, Field(min_length=1, max_length=1), BeforeValidator(_tab)]


class Csv(SourceDeclaration):
    """A delimited text file, plain or gzipped."""

    component: ClassVar[str] = "components.data.csv_source:read"
    heading: ClassVar[str] = "components.data.csv_source:header"
    name: Literal["csv"] = "csv"
    path: str = Field(min_length=1, description="the file; relative to the folder the command is started in")
    delimiter: Mark = Field(default=",", description="one ASCII character; \\t is a tab")
    encoding: str = Field(default="utf-8", description="utf-8 (with or without BOM), latin-1, cp1252, ...")
    decimal: Mark = Field(default=".", description="decimal mark of numbers")
    thousands: Mark | None = Field(default=None, description="thousands mark of numbers")
    quote: Mark = Field(default='"', description="one ASCII character")
    trim: bool = Field(default=True, description="strip blanks around headers and cells")
    normalize: bool = Field(default=True, description="bring text to Unicode NFC")

    @field_validator("encoding")
    @classmethod
    def _known(cls, encoding: str) -> str:
        try:
            "a".encode(encoding)  # more than codecs.lookup: base64 and its like are codecs, but not of text
        except (LookupError, ValueError) as error:
            raise PydanticCustomError("encoding", "no text encoding that Python knows; utf-8, latin-1 ...") from error
        return encoding

    @model_validator(mode="after")
    def _marks_differ(self) -> Self:
        if not (self.delimiter + self.quote).isascii() or {self.delimiter, self.quote} & set("\r\n"):
            raise PydanticCustomError("marks", "delimiter and quote are ASCII characters that don't end a line")
        if self.delimiter == self.quote:
            raise PydanticCustomError("marks", "delimiter and quote are the same character")
        if self.decimal == self.thousands:
            raise PydanticCustomError("marks", "decimal and thousands are the same character")
        if (set(self.decimal) | set(self.thousands or "")) & set("0123456789+-eE"):
            raise PydanticCustomError("marks", "decimal and thousands are marks that no number is made of")
        return self


class Parquet(SourceDeclaration):
    """A Parquet file."""

    component: ClassVar[str] = "components.data.parquet_source:read"
    heading: ClassVar[str] = "components.data.parquet_source:header"
    name: Literal["parquet"] = "parquet"
    path: str = Field(min_length=1, description="the file; relative to the folder the command is started in")
    trim: bool = Field(default=True, description="strip blanks around headers and text cells")
    normalize: bool = Field(default=True, description="bring text to Unicode NFC")


class Excel(SourceDeclaration):
    """One sheet of an Excel workbook."""

    component: ClassVar[str] = "components.data.excel_source:read"
    name: Literal["excel"] = "excel"
    path: str = Field(min_length=1, description="the file; relative to the folder the command is started in")
    sheet: str | None = Field(default=None, description="name of the sheet; the first one without it")
    trim: bool = Field(default=True, description="strip blanks around headers and text cells")
    normalize: bool = Field(default=True, description="bring text to Unicode NFC")


class Sql(SourceDeclaration):
    """The answer of a database to one query."""

    component: ClassVar[str] = "components.data.sql_source:read"
    heading: ClassVar[str] = "components.data.sql_source:header"
    name: Literal["sql"] = "sql"
    url: str = Field(min_length=1, description="SQLAlchemy URL; a password in it is masked wherever it is written")
    query: str = Field(min_length=1, description="one statement that returns rows; nothing is ever committed")
    trim: bool = Field(default=True, description="strip blanks around headers and text cells")
    normalize: bool = Field(default=True, description="bring text to Unicode NFC")


class Bundled(SourceDeclaration):
    """A real table that scikit-learn carries along."""

    component: ClassVar[str] = "components.data.bundled_source:read"
    name: Literal["sklearn"] = "sklearn"
    table: Literal["diabetes", "breast_cancer", "iris", "wine", "linnerud"] = Field(
        default="diabetes", description="which table; diabetes comes unscaled"
    )


class Hospitals(SourceDeclaration):
    """Synthetic patients of several hospitals of unequal size."""

    component: ClassVar[str] = "components.data.hospitals:read"
    heading: ClassVar[str] = "components.data.hospitals:header"
    name: Literal["hospitals"] = "hospitals"
    rows: int = Field(default=6000, ge=1, description="patients")
    hospitals: int = Field(default=5, ge=1, le=12, description="hospitals, at most 12")
    size_ratio: float = Field(default=0.7, gt=0, le=1, description="size of each hospital over that of the one before")
    generator_seed: int = Field(default=7, ge=0, description="seed of the made-up rows; apart from the run's seed")


class Cancer(SourceDeclaration):
    """Synthetic cancer patients of ten countries."""

    component: ClassVar[str] = "components.data.cancer:read"
    heading: ClassVar[str] = "components.data.cancer:header"
    name: Literal["cancer"] = "cancer"
    rows: int = Field(default=50_000, ge=1, description="patients")
    generator_seed: int = Field(default=7, ge=0, description="seed of the made-up rows; apart from the run's seed")
