import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from runner import canonical
from runner.record import SEAL, describe, opening, read_record, reading_sections, schema_digest, seal
from schemas import record as contract
from schemas.dataset import DatasetSchema
from schemas.faults import DataError, Fault
from schemas.record import Flow, Input, Record, json_schema_text

CANARY = "ZZ-CANARY-7731"


def started(sections: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "run_id": "20200101T000000Z-abcdef",
        "name": "ward",
        "parent": None,
        "status": "running",
        "error": None,
        "started": "2020-01-01T00:00:00.000000Z",
        "ended": None,
        **sections,
        **more,
    }


def test_the_exported_schema_is_current():
    exported = Path(contract.__file__).with_name("record.schema.json")
    assert exported.read_text(encoding="utf-8") == json_schema_text(), (
        "write schemas.record.json_schema_text() to schemas/record.schema.json"
    )


def test_every_field_says_what_it_is_and_which_of_the_asked_ones_it_answers():
    described = [field.description or "" for field in Record.model_fields.values()]
    asked = {int(text.partition(" ")[0]) for text in described}
    assert asked == set(range(1, 20))


def test_a_sealed_record_is_canonical_complete_and_carries_its_own_digest(ward_opening: dict[str, Any], tmp_path: Path):
    content = seal(started(ward_opening))
    parsed = json.loads(content)
    assert canonical.dumps(parsed) == content
    assert parsed.pop(SEAL) == canonical.digest(parsed)
    assert parsed["protection"] == {
        "purpose": "quality of care",
        "legal_basis": None,
        "controller": None,
        "recipient": None,
        "release_model": None,
        "data_subjects": [],
        "retention_date": None,
        "dpia_reference": None,
        "next_review_date": None,
    }
    assert parsed["agent"] == {"responsible": "Dr. Grey"}
    assert parsed["configuration"]["sha256"] == canonical.digest(parsed["configuration"]["resolved"])
    (tmp_path / "record.json").write_bytes(content)
    assert read_record(tmp_path) == read_record(tmp_path / "record.json")
    assert set(parsed) | {SEAL} == set(Record.model_fields)


def test_what_json_lacks_survives_the_record(ward_opening: dict[str, Any], tmp_path: Path):
    epsilon = {"stage": "dp", "metric": "epsilon", "value": math.inf}
    large = {**ward_opening, "randomness": {"seed": 2**70}}
    (tmp_path / "record.json").write_bytes(seal(started(large, metrics=[epsilon])))
    read = read_record(tmp_path)
    assert read.metrics[0].value == math.inf
    assert read.randomness.seed == str(2**70)


def test_secrets_are_masked_wherever_a_user_can_write_them(ward: DatasetSchema):
    secret = "hunter2"  # noqa: S105
    url = f"postgresql://me:{secret}@host/db"
    sections = opening(
        seed=1,
        dataset=ward,
        resolved={"dataset": {"source": {"url": url}}, "protection": {"purpose": secret}},
        as_written=f"url: {url}",
        argv=[f"dataset.source.url={url}"],
        overrides=[f"dataset.source.url={url}"],
        files=[(f"{secret}.yaml", "ab" * 32)],
    )
    error = {"type": "DataError", "message": url, "stage": None, "frames": []}
    ended = "2020-01-01T00:00:01.000000Z"
    more = {"status": "failed", "error": error, "ended": ended, "warnings": [url]}
    assert secret.encode() in seal(started(sections, **more))
    assert secret.encode() not in seal(started(sections, **more), lambda text: text.replace(secret, "***"))


def test_a_short_secret_does_not_break_the_record(ward_opening: dict[str, Any], tmp_path: Path):
    for secret in ("a", "running", "0", "2020", "ward"):
        (tmp_path / "record.json").write_bytes(seal(started(ward_opening), lambda text, s=secret: text.replace(s, "*")))
        assert read_record(tmp_path).invocation.files[0].sha256 == "ab" * 32


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda text: text.replace(b"quality of care", b"quality of cure"), "was changed"),
        (lambda text: text.replace(b'"seed":7', b'"seed":8'), "was changed"),
        (lambda text: text + b"\n", "was changed"),
        (lambda text: json.dumps(json.loads(text), indent=1).encode(), "was changed"),
        (lambda text: text.replace(b'"schema_version":1', b'"schema_version":2'), "another schema version"),
        (lambda text: text.replace(b'"status":"running"', b'"status":"resting"'), "status"),
        (lambda text: text.replace(b'"name":"ward"', b'"mane":"ward"'), "mane"),
        (lambda text: text[:-1], "is no JSON"),
        (lambda _: b"", "is no JSON"),
        (lambda _: b"[]", "is no record"),
        (lambda _: b"[" * 100_000, "is no JSON"),
        (lambda _: b"\xff\xfe", "is no JSON"),
    ],
)
def test_damage_is_told(ward_opening: dict[str, Any], tmp_path: Path, damage: Callable[[bytes], bytes], told: str):
    content = seal(started(ward_opening))
    damaged = damage(content)
    assert damaged != content
    (tmp_path / "record.json").write_bytes(damaged)
    with pytest.raises(DataError, match=told):
        read_record(tmp_path)


def test_a_missing_record_is_told(tmp_path: Path):
    with pytest.raises(DataError, match=r"record\.json: is missing"):
        read_record(tmp_path)


def test_damage_is_told_without_the_damaged_value(ward_opening: dict[str, Any], tmp_path: Path):
    (tmp_path / "record.json").write_bytes(seal(started(ward_opening)).replace(b'"running"', f'"{CANARY}"'.encode()))
    with pytest.raises(DataError) as caught:
        read_record(tmp_path)
    assert CANARY not in str(caught.value)
    assert caught.value.__suppress_context__


def test_the_sentences_of_the_runner_stand_and_those_of_a_library_do_not():
    def fail(error: Exception) -> dict[str, Any]:
        try:
            raise error
        except type(error) as raised:
            return describe(raised, "fit")

    told = fail(DataError([Fault("column 'age'", "2 cells are no numbers", values=CANARY), Fault("b", "c")]))
    assert told["message"] == "column 'age': 2 cells are no numbers\nb: c"
    assert told["type"] == "schemas.faults.DataError"
    withheld = fail(ValueError(CANARY))
    assert (withheld["type"], withheld["message"], withheld["stage"]) == ("ValueError", None, "fit")
    assert len(withheld["frames"]) == 1
    assert withheld["frames"][0].startswith("tests/runner/test_record.py:")
    assert withheld["frames"][0].endswith(" fail")
    assert CANARY not in json.dumps([told, withheld])


def test_frames_name_no_folder_of_the_machine(tmp_path: Path):
    script = tmp_path / "site-packages" / "lib" / "module.py"
    for filename, shown in [(script, "lib/module.py:1"), (tmp_path / "mine.py", "mine.py:1")]:
        with pytest.raises(ZeroDivisionError) as caught:
            exec(compile("1/0", str(filename), "exec"))  # noqa: S102
        assert describe(caught.value, None)["frames"][-1] == f"{shown} <module>"


def test_the_digest_of_a_schema_is_about_columns_and_not_about_the_source(ward: DatasetSchema):
    moved = ward.model_copy(update={"source": {"name": "sql", "url": "sql://me:hunter2@host"}})
    renamed = ward.model_copy(update={"task": "regression"})
    assert schema_digest(ward) == schema_digest(moved)
    assert schema_digest(ward) != schema_digest(renamed)


def test_a_reading_becomes_inputs_checks_and_what_came_in(ward_opening: dict[str, Any]):
    reading = SimpleNamespace(
        table=SimpleNamespace(frame=SimpleNamespace(columns=["age"])),
        inputs=[Input(uri="ward.csv", bytes=10, sha256="cd" * 32, rows=5, columns=2)],
        missing={"age": {"": 1}},
        dropped_columns={"note": "role drop"},
        dropped_rows={"missing: age": 1},
        checks=[{"name": "bounds", "column": "age", "rows_checked": 4, "failures": 0}],
        notes=("no zone was declared",),
    )
    sections = reading_sections(reading)
    merged = {**ward_opening, **sections, "dataset": {**ward_opening["dataset"], **sections["dataset"]}}
    read = Record.model_validate(json.loads(seal(started(merged))))
    assert read.flow == Flow(
        rows_in=5,
        dropped_rows={"missing: age": 1},
        columns_in=["age", "note"],
        dropped_columns={"note": "role drop"},
    )
    assert read.validation[0].table == "input"
    assert read.dataset.inputs[0].sha256 == "cd" * 32
    assert read.warnings == ["no zone was declared"]


def test_rows_and_columns_in_and_out_must_add_up():
    flow = {"rows_in": 10, "columns_in": ["a", "b"], "dropped_rows": {"held out": 4}, "dropped_columns": {"a": "id"}}
    Flow.model_validate(flow)
    Flow.model_validate({**flow, "rows_out": 6, "columns_out": ["b"]})
    with pytest.raises(ValidationError, match="10 rows in, 4 dropped with a reason and 7 out"):
        Flow.model_validate({**flow, "rows_out": 7})
    for out in (["a", "b"], [], ["b", "c"]):
        with pytest.raises(ValidationError, match="columns without a reason"):
            Flow.model_validate({**flow, "columns_out": out})


def test_status_end_and_error_hold_together(ward_opening: dict[str, Any]):
    ended = "2020-01-01T00:00:01.000000Z"
    for change in ({"status": "completed"}, {"ended": ended}, {"status": "failed", "ended": ended}):
        with pytest.raises(ValidationError, match="exactly when"):
            seal(started(ward_opening, **change))
    seal(started(ward_opening, status="completed", ended=ended))
