import json
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.events import FIRST, EventLog, read_chain
from schemas.faults import DataError


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    events = EventLog(path)
    events.write("run started", run_id="x")
    events.write("stage finished", "fit", rows=3, loss=float("inf"))
    events.write("run completed")
    events.close()
    return path


def test_each_line_carries_the_hash_of_the_line_before(log: Path):
    lines = log.read_bytes().splitlines()
    assert [json.loads(line)["previous"] for line in lines] == [
        FIRST,
        *(sha256(line).hexdigest() for line in lines[:-1]),
    ]
    read = read_chain(log)
    assert [event.sequence for event in read] == [1, 2, 3]
    assert read[1].facts == {"rows": 3, "loss": "infinite"}
    assert read[1].stage == "fit"


def test_an_event_is_in_the_file_when_the_call_returns(tmp_path: Path):
    events = EventLog(tmp_path / "e")
    events.write("run started")
    assert len(read_chain(tmp_path / "e")) == 1
    events.close()


def test_secrets_are_masked_among_the_facts(tmp_path: Path):
    events = EventLog(tmp_path / "e", lambda text: text.replace("hunter2", "***"))
    events.write("stage finished", url="sql://me:hunter2@host", names=["hunter2"])
    events.close()
    assert "hunter2" not in (tmp_path / "e").read_text()


def test_an_existing_log_is_never_written_over(log: Path):
    with pytest.raises(FileExistsError):
        EventLog(log)


@settings(max_examples=60)
@given(data=st.data())
def test_any_changed_byte_breaks_the_chain_or_the_line(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("log") / "events.jsonl"
    events = EventLog(path)
    for number in range(4):
        events.write("stage finished", rows=number)
    events.close()
    content = bytearray(path.read_bytes())
    last = content.rstrip(b"\n").rfind(b"\n")  # the last line has no successor: only the record holds its digest
    place = data.draw(st.integers(0, last))
    content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    with pytest.raises(DataError):
        read_chain(path)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda lines: lines[1:], "line 1: has sequence number 2"),
        (lambda lines: [lines[0], lines[2]], "line 2: has sequence number 3"),
        (lambda lines: [lines[0], lines[1].replace(b'"rows":3', b'"rows":4'), lines[2]], "line 3: does not carry"),
        (lambda lines: [lines[0], b"{}", lines[2]], "line 2: is no event"),
        (lambda lines: [*lines[:2], lines[2][:20]], "line 3: is no event"),
    ],
)
def test_the_first_broken_line_is_named(log: Path, damage, told: str):  # noqa: ANN001
    log.write_bytes(b"".join(line + b"\n" for line in damage(log.read_bytes().splitlines())))
    with pytest.raises(DataError, match=told):
        read_chain(log)


def test_a_line_that_was_cut_off_is_told(log: Path):
    log.write_bytes(log.read_bytes()[:-5])
    with pytest.raises(DataError, match="line 3: is cut off"):
        read_chain(log)


def test_a_missing_log_is_told(tmp_path: Path):
    with pytest.raises(DataError, match="can't be read"):
        read_chain(tmp_path / "events.jsonl")
