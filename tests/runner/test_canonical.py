import math
from datetime import UTC, date, datetime
from enum import Enum
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner import canonical
from schemas.base import Contract

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None, categories=("L", "Cs", "Cc", "N")))
)
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(values)
def test_canonical_bytes_come_back_to_themselves(value: Any):
    written = canonical.dumps(value)
    assert canonical.dumps(canonical.loads(written)) == written


@given(st.dictionaries(st.text(), st.integers(-5, 5)))
def test_the_order_of_keys_does_not_matter(content: dict[str, int]):
    backwards = dict(reversed(content.items()))
    assert canonical.digest(content) == canonical.digest(backwards)


def test_numbers_are_written_as_rfc_8785_says():
    # Appendix B of RFC 8785.
    oracle = {
        5e-324: "5e-324",
        1.7976931348623157e308: "1.7976931348623157e+308",
        9007199254740992.0: "9007199254740992",
        295147905179352830000.0: "295147905179352830000",
        1e21: "1e+21",
        0.000001: "0.000001",
        1e-7: "1e-7",
        333333333.3333332: "333333333.3333332",
    }
    for number, text in oracle.items():
        assert canonical.dumps(number).decode() == text
        assert canonical.dumps(-number).decode() == f"-{text}"
    assert canonical.dumps([0.0, -0.0]) == b"[0,0]"
    assert canonical.dumps([2**53 - 1, 2**53]) == b'[9007199254740991,"9007199254740992"]'


def test_what_json_lacks_has_one_stated_form():
    given_values = [math.inf, -math.inf, math.nan, -(2**60)]
    assert canonical.plain(given_values) == ["infinite", "-infinite", "nan", str(-(2**60))]


def test_values_of_every_day_become_plain():
    class Colour(Enum):
        RED = "red"

    class Pair(Contract):
        left: int
        right: tuple[int, ...] = ()

    assert canonical.plain(
        {
            "date": date(2020, 2, 29),
            "time": datetime(2020, 2, 29, 1, tzinfo=UTC),
            "path": PurePosixPath("a/b"),
            "enum": Colour.RED,
            "model": Pair(left=1, right=(2, 3)),
            "set": {"b", "a"},
            "numpy": [np.int64(3), np.float32(0.5), np.bool_(1), np.str_("x")],
            1: "one",
        }
    ) == {
        "date": "2020-02-29",
        "time": "2020-02-29T01:00:00+00:00",
        "path": "a/b",
        "enum": "red",
        "model": {"left": 1, "right": [2, 3]},
        "set": ["a", "b"],
        "numpy": [3, 0.5, True, "x"],
        "1": "one",
    }


def test_bytes_of_a_command_line_that_are_no_text_are_escaped():
    assert canonical.dumps("caf\udce9") == b'"caf\\\\udce9"'


def test_unknown_types_are_refused_by_type_alone():
    with pytest.raises(TypeError, match=r"^numpy\.ndarray has no canonical form$"):
        canonical.plain({"rows": np.array(["ZZ-CANARY-7731"])})


def test_keys_that_would_fall_together_are_refused():
    with pytest.raises(ValueError, match="same text"):
        canonical.plain({1: "a", "1": "b"})


@pytest.mark.parametrize(
    "text", [b'{"a":1,"a":2}', b"NaN", b"-Infinity", b"\xff", b"", b"1" + b"0" * 400, b"\xef\xbb\xbf1", b"[1"]
)
def test_what_is_no_strict_json_is_refused(text: bytes):
    with pytest.raises(ValueError, match=r"."):
        canonical.loads(text)


def test_a_file_has_the_digest_of_its_bytes(tmp_path: Path):
    file = tmp_path / "f"
    file.write_bytes(b"abc" * 100_000)
    assert canonical.digest_file(file) == sha256(b"abc" * 100_000).hexdigest()
    assert canonical.digest({"b": 1.0, "a": "é"}) == sha256('{"a":"é","b":1}'.encode()).hexdigest()
