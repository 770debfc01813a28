"""The dataset contract: where a table comes from, what its columns are and what each is to privacy."""

import math
from collections.abc import Collection
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictInt, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from schemas.base import Contract, Text
from schemas.hierarchy import HierarchyDeclaration, misfits, written_out

DType = Literal["integer", "number", "text", "category", "ordered", "boolean", "date", "datetime"]
Role = Literal["identifier", "quasi_identifier", "sensitive", "insensitive", "drop"]

TEXT_LIKE: frozenset[str] = frozenset({"text", "category", "ordered"})
"""Dtypes that are read as text from the first byte, so that 01001 stays 01001."""

NUMERIC: frozenset[str] = frozenset({"integer", "number"})
TEMPORAL: frozenset[str] = frozenset({"date", "datetime"})


class Column(Contract):
    """One column of the table."""

    name: Text = Field(description="the header in the file; may be empty, as R writes that of row names")
    dtype: DType = Field(description="what the cells are")
    role: Role | None = Field(default=None, description="what the column is to privacy")
    nullable: bool = Field(default=False, description="cells may be missing")
    unique: bool = Field(default=False, description="no value may occur twice")
    values: list[Text] | None = Field(
        default=None, min_length=1, description="allowed values; for an ordered column in their order"
    )
    min: StrictInt | float | str | None = Field(default=None, description="smallest allowed value (dates: ISO text)")
    max: StrictInt | float | str | None = Field(default=None, description="largest allowed value (dates: ISO text)")
    unit: str | None = Field(default=None, description="unit of measurement")
    format: str | None = Field(default=None, description="strptime format of dates; ISO 8601 without it")
    description: str = Field(default="", description="what the column means")
    hierarchy: HierarchyDeclaration | None = Field(
        default=None, description="generalisation hierarchy: a mapping, the name of a file, or * for a flat one"
    )
    group: str | None = Field(
        default=None, description="one-hot columns of one attribute share a group and move together"
    )
    public: bool = Field(default=False, description="the values may be shown in messages")
    special_category: bool = Field(default=False, description="special category of personal data (GDPR art. 9)")
    sensitivity: float = Field(
        default=1.0, gt=0, description="weight in minimisation: what is not asked of the column counts that much more"
    )

    @field_validator("hierarchy", mode="before")
    @classmethod
    def _written_out(cls, hierarchy: object) -> object:
        return written_out(hierarchy)

    @field_validator("hierarchy")
    @classmethod
    def _goes_with_the_column(
        cls, hierarchy: HierarchyDeclaration | None, info: ValidationInfo
    ) -> HierarchyDeclaration | None:
        if hierarchy is not None and "dtype" in info.data and "values" in info.data:
            problems = "; ".join(misfits(hierarchy, info.data["dtype"], info.data["values"]))
            if problems:
                raise PydanticCustomError("hierarchy", "{problems}", {"problems": problems})
        return hierarchy

    @model_validator(mode="after")
    def _fits_its_dtype(self) -> Self:
        if self.values is not None and self.dtype not in TEXT_LIKE:
            raise PydanticCustomError(
                "column", "values are for text, category and ordered columns, not {dtype}", {"dtype": self.dtype}
            )
        if self.values is not None and len(set(self.values)) != len(self.values):
            raise PydanticCustomError("column", "a value is listed twice in values")
        if self.dtype == "ordered" and self.values is None:
            raise PydanticCustomError("column", "an ordered column needs its values, in order")
        if self.format is not None and self.dtype not in TEMPORAL:
            raise PydanticCustomError(
                "column", "format is for date and datetime columns, not {dtype}", {"dtype": self.dtype}
            )
        if self.format is not None:
            _check_format(self.format)
        self._check_bounds()
        return self

    def _check_bounds(self) -> None:
        bounds = [bound for bound in (self.min, self.max) if bound is not None]
        if not bounds:
            return
        if self.dtype in NUMERIC:
            if any(isinstance(bound, str) or not _is_finite(bound) for bound in bounds):
                raise PydanticCustomError("column", "min and max of a numeric column are finite numbers")
        elif self.dtype in TEMPORAL:
            bounds = [_moment(bound, self.dtype) for bound in bounds]
        else:
            raise PydanticCustomError(
                "column", "min and max are for numbers and dates, not {dtype}", {"dtype": self.dtype}
            )
        if len(bounds) == 2 and bounds[0] > bounds[1]:  # type: ignore[operator]  # both of one kind by now
            raise PydanticCustomError("column", "min is larger than max")


def _is_finite(bound: float) -> bool:
    try:
        return math.isfinite(bound)
    except OverflowError:  # a whole number that no float holds
        return False


def _moment(bound: object, dtype: str) -> Any:
    """Read the bound of a date or datetime column; a time with a zone becomes UTC, one without is taken as UTC."""
    try:
        if dtype == "date":
            return date.fromisoformat(str(bound))
        moment = datetime.fromisoformat(str(bound))
    except ValueError as error:
        raise PydanticCustomError(
            "column", "min and max of a {dtype} column are ISO 8601 text", {"dtype": dtype}
        ) from error
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _check_format(pattern: str) -> None:
    """Refuse a directive that strptime doesn't know (that a text doesn't match is no matter here)."""
    try:
        datetime.strptime("", pattern)  # noqa: DTZ007  # the moment itself is not used
    except ValueError as error:
        if "directive" in str(error) or "stray %" in str(error):
            raise PydanticCustomError("column", "format holds a directive that strptime doesn't know") from error


class Missing(Contract):
    """How missing cells are written, and what becomes of their rows."""

    markers: list[Text] = Field(default=[""], description="cells with exactly this text are missing")
    rows: Literal["keep", "drop"] = Field(default="keep", description="rows with a missing cell in a used column")


class SplitSettings(Contract):
    """How train and test rows are told apart."""

    test: float = Field(
        default=0.3, ge=0, lt=1, description="share of rows held out for testing; 0 only without a model"
    )
    stratify: bool = Field(default=False, description="keep the target's shares in both parts")


class Population(Contract):
    """The population that the table's persons are of: what a journalist attacker, and k-map, look at."""

    size: int | None = Field(default=None, ge=1, description="persons in the population")
    path: str | None = Field(
        default=None, description="CSV file of the population, read as the dataset's; wins over size"
    )


class DatasetSchema(Contract):
    """A dataset: its source, columns with roles, target and rules for reading.

    ``source`` is checked against the declaration of the source that it names; here it is carried as it is.
    """

    name: str = Field(min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")
    description: str = ""
    synthetic: bool = Field(default=False, description="the rows are made up; said wherever the data are named")
    source: Any
    columns: list[Column] = Field(min_length=1)
    undeclared: Literal["refuse", "drop"] = Field(
        default="refuse", description="columns without a role, and columns of the file that the schema doesn't name"
    )
    target: Text | Annotated[list[Text], Field(min_length=1)] | None = Field(
        default=None, description="the column that a model learns, or a list of columns of the one task"
    )
    task: Literal["classification", "regression"] | None = None
    subject_id: Text | None = Field(default=None, description="column that names the person; k then counts persons")
    client: Text | None = Field(default=None, description="column that names the site a row belongs to")
    hierarchies: str | None = Field(default=None, description="folder of the hierarchy files that columns name")
    population: Population = Population()
    risk_thresholds: list[Annotated[float, Field(gt=0, le=1)]] = Field(
        default=[0.09, 0.2, 0.5], description="shares of records above these risks are told; 0.09 stands for 1/11"
    )
    missing: Missing = Missing()
    split: SplitSettings = SplitSettings()

    @field_validator("columns", mode="before")
    @classmethod
    def _by_name(cls, columns: object) -> object:
        """Accept a mapping from name to column as well as a list of columns with ``name``."""
        if not isinstance(columns, dict):
            return columns
        return [{"name": name, **column} if isinstance(column, dict) else column for name, column in columns.items()]

    @field_validator("columns")
    @classmethod
    def _names_once(cls, columns: list[Column]) -> list[Column]:
        names = [column.name for column in columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise PydanticCustomError("columns", "declared twice: {names}", {"names": ", ".join(twice)})
        return columns

    @field_validator("target")
    @classmethod
    def _targets_once(cls, target: str | list[str] | None) -> str | list[str] | None:
        """Take a list of one column as that column."""
        if not isinstance(target, list):
            return target
        twice = sorted({name for name in target if target.count(name) > 1})
        if twice:
            raise PydanticCustomError("target", "listed twice: {names}", {"names": ", ".join(twice)})
        return target[0] if len(target) == 1 else target

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        markers = set(self.missing.markers)
        for column in self.columns:
            both = [value for value in column.values or () if value in markers]
            if both and column.role not in (None, "drop"):
                raise PydanticCustomError(
                    "dataset",
                    "{both} is an allowed value of column {name} and also marks missing cells: one or the other",
                    {"both": ", ".join(map(repr, both)), "name": column.name},
                )
        for group in {column.group for column in self.columns if column.group is not None}:
            if len({column.role for column in self.columns if column.group == group}) > 1:
                raise PydanticCustomError(
                    "dataset",
                    "the one-hot columns of group {group} differ in role: they move together, or not at all",
                    {"group": group},
                )
        if self.split.stratify and self.task != "classification":
            raise PydanticCustomError("dataset", "split.stratify is for classification")
        return self

    def column(self, name: str) -> Column:
        """Return the column called `name`; ``KeyError`` when there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def names(self, *roles: Role) -> list[str]:
        """Return the names of the columns with one of `roles`, in declared order (all columns without roles)."""
        return [column.name for column in self.columns if not roles or column.role in roles]

    @property
    def used(self) -> list[Column]:
        """Columns that are read and stay in the table: those with a role other than ``drop``, in declared order."""
        return [column for column in self.columns if column.role not in (None, "drop")]

    @property
    def quasi_identifiers(self) -> list[str]:
        """Names of the quasi-identifiers, in declared order."""
        return self.names("quasi_identifier")

    @property
    def sensitive(self) -> list[str]:
        """Names of the sensitive columns, in declared order."""
        return self.names("sensitive")

    @property
    def features(self) -> list[str]:
        """Names of the columns a model may see: all but identifiers, dropped ones, the targets and un-roled ones."""
        seen = self.names("quasi_identifier", "sensitive", "insensitive")
        return [name for name in seen if name not in {*self.targets, self.subject_id}]

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the columns that a model learns, as listed; empty without a target."""
        if self.target is None:
            return ()
        return (self.target,) if isinstance(self.target, str) else tuple(self.target)

    def of_target(self, name: str) -> Self:
        """Return the schema of a table with one of the targets, and without the columns of the others."""
        others = set(self.targets) - {name}
        kept = [column for column in self.columns if column.name not in others]
        return self.model_copy(update={"columns": kept, "target": name})


def released(
    schema: DatasetSchema, generalised: Collection[str] = (), identifiers: Collection[str] = ()
) -> DatasetSchema:
    """Derive the schema of a released table.

    Identifiers, the subject id, columns with role ``drop`` and columns without a role are gone, but for the identifiers
    that were asked to stay. A generalised column, and an identifier that stays, is text without allowed values, bounds,
    format or unit. No quasi-identifier is unique any more, since a class shares its values.

    Parameters
    ----------
    schema : DatasetSchema
        Schema of the table that was anonymised.
    generalised : collection of str, optional
        Columns published as text such as ``[20, 29]``.
    identifiers : collection of str, optional
        Identifiers published masked or pseudonymised.

    Returns
    -------
    DatasetSchema
        ``client``, ``subject_id`` and each ``target`` are kept where their columns are (a generalised target is none).

    Raises
    ------
    KeyError
        When `generalised` or `identifiers` names a column that the release doesn't have.
    """
    hidden = {*schema.names("identifier"), schema.subject_id} - set(identifiers)
    kept = [column for column in schema.used if column.name not in hidden]
    names = {column.name for column in kept}
    as_text = {*generalised, *identifiers}
    if unknown := sorted(as_text - names):
        raise KeyError(f"not in the release: {', '.join(unknown)}")
    learnable = [name for name in schema.targets if name in names and name not in generalised]
    return schema.model_copy(
        update={
            "columns": [_released_column(column, generalised=column.name in as_text) for column in kept],
            "target": learnable if len(learnable) > 1 else next(iter(learnable), None),
            "task": schema.task if learnable else None,
            "subject_id": schema.subject_id if schema.subject_id in names else None,
            "client": schema.client if schema.client in names else None,
        }
    )


def _released_column(column: Column, *, generalised: bool) -> Column:
    changes: dict[str, Any] = {}
    if column.role == "quasi_identifier":
        changes["unique"] = False
    if generalised:
        gone = ("values", "min", "max", "format", "unit", "hierarchy", "group")
        changes |= {"dtype": "text", "unique": False, **dict.fromkeys(gone)}
    return column.model_copy(update=changes)
