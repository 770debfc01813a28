"""The record of a run: the one source that later verbs read. Fields are numbered as auditors ask for them.

The record is written as canonical JSON (RFC 8785). Numbers that JSON can't hold stand as text: infinities and NaN
as ``infinite``, ``-infinite`` and ``nan``, whole numbers beyond 2**53 - 1 as their digits.
"""

import json
from typing import Annotated, Any, Literal, Self

from pydantic import Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from schemas.base import Contract
from schemas.generalizations import Collect, Verdict
from schemas.protection import Protection
from schemas.tables import Metric, Real

SCHEMA_VERSION = 1

Status = Literal["running", "completed", "failed", "interrupted"]
Release = Literal["raw", "internal", "releasable"]

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256, lower-case hexadecimal")]
Moment = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$", description="UTC, ISO 8601")]
Count = Annotated[int, Field(ge=0)]
Facts = dict[str, JsonValue]


class SweepJob(Contract):
    """The sweep that a run is part of."""

    sweep: str = Field(description="id of the sweep")
    job: Count = Field(description="number of the job in it")


class Failure(Contract):
    """Why a run did not complete."""

    type: str = Field(description="type of the exception")
    message: str | None = Field(
        description="the runner's own sentences, which hold no cell values; null where a library's message is withheld"
    )
    stage: str | None = Field(description="stage that it happened in")
    frames: list[str] = Field(default=[], description="file:line function, outermost first")


class Agent(Contract):
    """Who answers for the run."""

    responsible: str | None = Field(description="declared responsible person")


class ConfigFile(Contract):
    """A file that the configuration was composed from."""

    path: str
    sha256: Digest


class Plugin(Contract):
    """One module of code that another distribution, or the user, brought."""

    kind: str = Field(description="kind of component, torch_module or callable")
    name: str = Field(description="registered name, or that of the function")
    distribution: str | None = Field(default=None, description="null: a file of the user's")
    version: str | None = None
    module: str | None = Field(default=None, description="Python module, or the file's path as given")
    sha256: Digest | None = Field(default=None, description="of the source file; null where there is none")


class Invocation(Contract):
    """How the run was asked for."""

    argv: list[str] = Field(description="the command line, secrets masked")
    overrides: list[str] = Field(description="overrides as given, secrets masked")
    choices: dict[str, str] = Field(description="the chosen option of each group")
    files: list[ConfigFile] = Field(description="source files of the configuration")
    plugins: list[Plugin] = Field(default=[], description="code that is not ours: components, modules, functions")


class Configuration(Contract):
    """What the run was told."""

    resolved: Facts = Field(description="the composed configuration, resolved, secrets masked")
    sha256: Digest = Field(description="of the canonical form of resolved")
    as_written: str = Field(description="the composed configuration before interpolation (YAML), secrets masked")


class Code(Contract):
    """The code that ran. The git facts are null outside a checkout, or where git does not answer."""

    package: str
    version: str
    commit: str | None = Field(description="git commit of the checkout")
    dirty: bool | None = Field(description="the code differed from that commit, or held untracked files")
    diff_sha256: Digest | None = Field(description="of the differences; null when there were none")


class Environment(Contract):
    """Where it ran."""

    python: str
    implementation: str
    os: str
    machine: str
    cpu: str | None
    cores: Count | None = Field(description="cores that the process may use")
    threads: dict[str, str] = Field(description="thread limits set in the environment")
    gpu: str | None = Field(description="null: none was used")
    distributions: dict[str, str] = Field(description="installed distributions and their versions")
    distributions_sha256: Digest = Field(description="of the canonical form of distributions")


class Randomness(Contract):
    """Where chance came from."""

    seed: int | str = Field(description="root seed")
    streams: dict[str, int] = Field(default={}, description="derived seed by purpose")
    flags: Facts = Field(default={}, description="determinism flags")


class Input(Contract):
    """A source that was read: the table, the population, hierarchies and agreed transformations."""

    uri: str = Field(description="path as given, or URI, secrets masked")
    bytes: Count | None = Field(description="null where the source is no file")
    sha256: Digest | None
    rows: Count | None = Field(description="null, as columns, where the source is neither the table nor the population")
    columns: Count | None


class Dataset(Contract):
    """The table as declared, and what was read of it."""

    name: str
    synthetic: bool = Field(description="the rows are made up")
    schema_sha256: Digest = Field(description="of the canonical form of the dataset schema without its source")
    inputs: list[Input] = Field(default=[])
    missing: dict[str, dict[str, Count]] = Field(default={}, description="cells per column and missing marker")


class Flow(Contract):
    """Rows and columns in and out. Once the run has an output, everything in between is accounted for."""

    rows_in: Count
    rows_out: Count | None = Field(default=None, description="rows released; null where nothing was")
    dropped_rows: dict[str, Count] = Field(default={}, description="rows left out, by reason")
    columns_in: list[str]
    columns_out: list[str] | None = Field(default=None, description="columns released; null where nothing was")
    dropped_columns: dict[str, str] = Field(default={}, description="columns left out, each with its reason")

    @model_validator(mode="after")
    def _accounted_for(self) -> Self:
        dropped = sum(self.dropped_rows.values())
        if self.rows_out is not None and self.rows_in - dropped != self.rows_out:
            raise PydanticCustomError(
                "flow",
                "{rows_in} rows in, {dropped} dropped with a reason and {rows_out} out do not add up",
                {"rows_in": self.rows_in, "dropped": dropped, "rows_out": self.rows_out},
            )
        if self.columns_out is not None:
            unexplained = (set(self.columns_in) - set(self.dropped_columns)) ^ set(self.columns_out)
            if unexplained:
                raise PydanticCustomError(
                    "flow", "columns without a reason: {names}", {"names": ", ".join(sorted(unexplained))}
                )
        return self


class Anonymization(Contract):
    """How the release was made, and what was measured on it."""

    method: str
    parameters: Facts
    transformation: Facts = Field(default={}, description="what was done: hierarchies, levels, classes; no cell values")
    suppressed: Count = Field(description="rows suppressed whole")
    before: Facts = Field(description="measured on the rows before")
    after: Facts = Field(description="measured on what is released")


class CollectedColumn(Contract):
    """What is collected of one column, or of the one-hot columns of one group."""

    name: str
    columns: list[str]
    collect: Collect
    parts: Count = Field(description="ranges or groups that are asked for; 0 where all is collected or nothing")
    ncp: float = Field(ge=0, le=1, description="information lost on the report rows, as it is used (in cells)")
    asked_ncp: float = Field(ge=0, le=1, description="as it is asked: by the column's own ranges or groups")


class Use(Contract):
    """One way to use what was found, as measured on the report rows."""

    agreement: float
    low: float = Field(description="one-sided 95 % lower bound")
    ncp: float = Field(ge=0, le=1, description="information lost: mean over rows and columns")


class KeptTarget(Contract):
    """How far the predictions of one target stay, as measured on the report rows."""

    agreement: float = Field(description="regression: R2")
    low: float = Field(description="one-sided 95 % lower bound")


class Minimization(Contract):
    """What of a person is collected for the model, and whether its predictions stay."""

    method: str
    parameters: Facts
    rows: dict[str, Count] = Field(
        description="fit: searched on; calibration: said where to stop; report: judged on, once"
    )
    verdict: Verdict = Field(description="of the use that was asked for")
    targets: dict[str, KeptTarget] = Field(default={}, description="each target by itself, where there are several")
    ncp: float = Field(ge=0, le=1, description="information lost: mean over report rows and columns, as it is used")
    asked_ncp: float = Field(ge=0, le=1, description="as it is asked: by each column's own ranges or groups")
    uses: dict[str, Use] = Field(default={}, description="both uses of cells, whichever was asked for")
    asking: dict[str, float] = Field(default={}, description="how many questions are asked of a person")
    collected: list[CollectedColumn]


class ClientPrivacy(Contract):
    """What one client's messages cost it, and what is claimed of them."""

    client: str
    multiplier: Real = Field(description="standard deviation of the noise over the clip")
    basis: Literal["policy", "data-derived"] = Field(description="where the multiplier came from")
    rate: float = Field(description="of its Poisson batches; 1 where there are none")
    steps: Count = Field(description="noised releases in all")
    participations: Count = Field(description="rounds that it took part in")
    spent: Count | None = Field(default=None, description="first round that its budget did not allow")
    epsilon: Real | None = Field(description="against an outsider; null where no epsilon holds")
    epsilon_rdp: Real | None = Field(default=None, description="the same by Renyi DP, a looser check")
    against: dict[str, Real] = Field(default={}, description="epsilon against outsider, other client and server")
    statement: str = Field(description="what is claimed, with all its conditions")


class DifferentialPrivacy(Contract):
    """The noise that stands between the clients' rows and everybody else."""

    mechanism: str = Field(description="where the noise is added: server, distributed, local or record")
    parameters: Facts
    unit: str = Field(description="what is protected: client or record")
    relation: str = Field(description="what two neighbouring inputs differ in")
    sensitivity: float = Field(description="in clips")
    scheme: str = Field(description="how rows come into batches, or clients into rounds")
    delta: float
    accountant: str = Field(description="how epsilon is computed, with the version of what computes it")
    random_source: str
    reasons: list[str] = Field(default=[], description="why no epsilon holds; empty where it does")
    worst_epsilon: Real | None = Field(description="of an arbitrary person who is at one client")
    clients: list[ClientPrivacy]
    not_covered: list[str] = Field(default=[], description="what else crossed, and no epsilon is about")


class FederatedClient(Contract):
    """One site."""

    name: str
    train: Count
    test: Count
    took_part: bool
    why_not: str | None = Field(default=None, description="null where it took part")
    own_levels: dict[str, int] = Field(default={}, description="levels that lose least at this site alone")
    own_loss: float | None = None
    suppressed: Count | None = None
    loss: float | None = Field(default=None, description="of what it publishes")
    k: Count | None = None
    arirec: float | None = Field(default=None, description="mean over classes of one over their size")
    flagged: Count = Field(default=0, description="rounds in which it stood apart")
    excluded: Count = Field(default=0, description="rounds that it was left out of for that")
    refused: Count = Field(default=0, description="rounds in which its update was no finite vector")


class FederatedRound(Contract):
    """One round."""

    number: Count
    asked: Count = Field(description="clients whose turn it was")
    came: Count = Field(description="clients whose update was looked at")
    excluded: list[str] = Field(default=[], description="clients left out for drift")
    weighted_down: list[str] = Field(default=[], description="clients given less weight for drift")
    refused: list[str] = Field(default=[], description="clients whose update was no finite vector")
    spent: list[str] = Field(default=[], description="clients whose budget allows no more")
    clip: float | None = Field(default=None, description="of updates")
    change: float = Field(description="L2 norm of what the global weights changed by")
    loss: float | None = Field(default=None, description="mean training loss, where clients tell it")
    stayed: str = Field(default="", description="why the weights stayed as they were")


class ComparedFigure(Contract):
    """What one scenario has over another at the same seeds."""

    scenario: str
    against: str
    metric: str
    mean: Real = Field(description="of the figure of the one minus that of the other, seed by seed")
    low: Real | None = Field(description="lower end of its 95 % interval by Student's t")
    high: Real | None = Field(description="upper end of that")
    seeds: Count


class Equal(Contract):
    """What scenarios that protect the same have in common."""

    unit: str = Field(description="what they protect: client or record")
    by: str = Field(description="variance, worst_epsilon or mean_epsilon")
    reference: str = Field(description="the scenario that the others follow")
    figures: dict[str, Real] = Field(description="of each scenario, as reached")


class Comparison(Contract):
    """Scenarios that were compared over paired seeds."""

    scenarios: dict[str, Facts] = Field(description="noise of each by its name, as it was given; empty for none")
    seeds: list[int]
    equalise: str | None = Field(description="what was to be kept equal")
    equalised: list[Equal] = Field(default=[], description="what was, by what is protected")
    kept: str = Field(description="the scenario whose training at the first seed the rest of this record is about")
    differences: list[ComparedFigure] = Field(default=[])


class Federation(Contract):
    """How sites trained together."""

    method: str
    parameters: Facts
    partition: str = Field(description="how rows came to clients")
    partition_sha256: Digest = Field(description="of the client of each row")
    harmonised: Facts = Field(default={}, description="how the common levels were found")
    levels: dict[str, int] = Field(default={}, description="that all sites publish on")
    clients: list[FederatedClient]
    rounds: list[FederatedRound] = Field(default=[])
    ended: str = Field(default="", description="why training ended")
    attacks: list[str] = Field(default=[], description="simulated attackers")
    messages: dict[str, Count] = Field(default={}, description="how many messages of each kind crossed")
    comparison: Comparison | None = Field(default=None, description="scenarios that were compared; null for one alone")


class Stage(Contract):
    """One stage that was begun."""

    name: str
    completed: bool = Field(description="it came to its end; false where the run failed or was stopped in it")
    started: Moment
    seconds: float = Field(ge=0)
    inputs: dict[str, Digest] = Field(default={}, description="digest of each value taken")
    outputs: dict[str, Digest] = Field(default={}, description="digest of each value made")


class Validation(Contract):
    """One check of a table against its schema."""

    table: str = Field(description="the table checked: input or release")
    name: str
    column: str | None
    rows_checked: Count
    failures: Count


class Output(Contract):
    """One file of the run folder."""

    path: str = Field(description="relative to the run folder, with forward slashes")
    media_type: str
    bytes: Count
    sha256: Digest
    release: Release = Field(
        description="raw: holds or reveals raw rows; internal: for those who ran it; releasable: made to leave"
    )
    rows: Count | None = Field(description="rows of a table; null for what is none")


class SignOff(Contract):
    """Slot for the person who accepts the run."""

    by: str | None = None
    date: str | None = None
    remark: str | None = None


class Record(Contract):
    """All that a run says of itself. ``outputs`` lists every other file of its folder."""

    schema_version: Literal[1] = Field(description="1 · version of this schema")
    run_id: str = Field(description="1 · made once, at the start: UTC time and a random part")
    name: str = Field(description="1 · name of the run, its folder")
    parent: SweepJob | None = Field(description="1 · sweep and job, when part of a sweep")
    status: Status = Field(description="1 · how it ended")
    error: Failure | None = Field(description="1 · why it did not complete")
    started: Moment = Field(description="1 · start")
    ended: Moment | None = Field(description="1 · end; null while running")
    agent: Agent = Field(description="2 · who answers for it")
    invocation: Invocation = Field(description="3 · how it was asked for")
    configuration: Configuration = Field(description="4 · what it was told")
    code: Code = Field(description="5 · what ran")
    environment: Environment = Field(description="6 · where it ran")
    randomness: Randomness = Field(description="7 · where chance came from")
    dataset: Dataset = Field(description="8 · what was read")
    protection: Protection = Field(description="9 · data protection, as declared")
    flow: Flow | None = Field(default=None, description="10 · rows and columns in and out")
    anonymization: Anonymization | None = Field(default=None, description="11 · how the release was made")
    minimization: Minimization | None = Field(default=None, description="11 · what is collected of a person")
    differential_privacy: DifferentialPrivacy | None = Field(default=None, description="12 · noise, and what it costs")
    federation: Federation | None = Field(default=None, description="13 · how sites trained together")
    stages: list[Stage] = Field(default=[], description="14 · stages in their order")
    validation: list[Validation] = Field(default=[], description="15 · checks, without values")
    metrics: list[Metric] = Field(default=[], description="16 · figures; the rows of metrics.csv")
    outputs: list[Output] = Field(default=[], description="17 · every other file of the run folder")
    warnings: list[str] = Field(default=[], description="18 · what a reader should know")
    limits: list[str] = Field(default=[], description="18 · what is not claimed")
    sign_off: SignOff = Field(default=SignOff(), description="18 · to be filled in by a person, outside the record")
    record_sha256: Digest = Field(description="19 · of the canonical form of the record without this field")

    @model_validator(mode="after")
    def _status_holds_together(self) -> Self:
        if (self.status == "running") != (self.ended is None):
            raise PydanticCustomError("record", "a run has an end exactly when it is not running")
        if (self.status in {"failed", "interrupted"}) != (self.error is not None):
            raise PydanticCustomError("record", "a run has an error exactly when it failed or was interrupted")
        return self


class Event(Contract):
    """One line of events.jsonl."""

    sequence: int = Field(ge=1, description="1 for the first line")
    time: Moment
    event: str
    stage: str = Field(description="empty for the run as a whole")
    facts: Facts = Field(description="counts and names, never cell values")
    previous: Digest = Field(description="SHA-256 of the line before without its line end; 64 zeros for the first")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the record."""
    schema = Record.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def json_schema_text() -> str:
    """Return the text of ``record.schema.json``, which stands beside this module."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
