from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.secrets import MASK, mask, mask_tree, passwords, secrets, secrets_in

PASSWORD = "p%40ss.w0rd"  # noqa: S105  # made up
URL = f"postgresql://user:{PASSWORD}@host/db?sslmode=require"


def test_the_password_of_a_url_is_found_as_written_and_as_meant() -> None:
    assert passwords(URL) == {PASSWORD, "p@ss.w0rd"}
    assert passwords("mssql://host?odbc_connect=DRIVER%3Dx%3BPWD%3Dsec") >= {"sec"}
    assert passwords("sqlite:///data.db") == passwords("http://host:80/x") == set()


def test_the_user_and_the_host_stay_readable() -> None:
    assert mask(URL, ()) == "postgresql://user:***@host/db?sslmode=require"


def test_a_short_secret_is_masked_where_it_is_the_whole_text() -> None:
    assert mask("7", ("7",)) == MASK
    assert mask("17 of 70 rows", ("7",)) == "17 of 70 rows"


def test_a_url_that_takes_its_password_from_the_environment_stays_as_it_is_written() -> None:
    text = "postgresql://user:${oc.env:PW}@host/db"
    assert mask(text, ("hunter22",)) == text


@given(
    st.text(st.characters(blacklist_characters="*", blacklist_categories=["Cs"]), min_size=4),
    st.text(max_size=5),
    st.text(max_size=5),
)
def test_a_secret_never_survives_masking(secret: str, before: str, after: str) -> None:
    assert secret not in mask(f"{before}{secret}{after}", (secret,))


@given(st.text(st.sampled_from("ab"), min_size=4), st.text(st.sampled_from("ab"), min_size=4))
def test_of_two_secrets_neither_survives_though_one_holds_the_other(one: str, other: str) -> None:
    hidden = secrets_in({}, {}, [f"x://u:{one}@h", f"x://u:{other}@h"])
    masked = mask(f"{one} {other}", hidden)
    assert one not in masked
    assert other not in masked


def test_of_a_secret_that_begins_with_another_nothing_is_left() -> None:
    hidden = secrets_in({}, {}, ["x://u:hunter22@h", "x://u:hunter22more@h"])
    assert mask("hunter22more", hidden) == mask("hunter22", hidden) == MASK
    assert mask("a hunter22more b", hidden) == f"a {MASK} b"


def test_environment_variables_are_secrets_wherever_they_stand(mine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_OF_MINE", "hunter22")
    composed = mine.compose("protection.purpose='care ${oc.env:TOKEN_OF_MINE}'")
    assert "hunter22" in secrets(composed)
    assert composed.resolved["protection"]["purpose"] == "care hunter22"
    assert "hunter22" not in composed.as_written


def test_the_default_of_an_unset_variable_is_a_secret_too(mine: Any) -> None:
    composed = mine.compose("protection.purpose=${oc.env:SURELY_NOT_SET,fallback}")
    assert "fallback" in secrets(composed)


def test_a_password_is_in_no_text_but_the_resolved_tree(mine: Any) -> None:
    mine.vary("{name: csv, path: toy.csv}", f"{{name: sql, url: '{URL}', query: select 1}}")
    composed = mine.compose()
    assert composed.config.dataset.source.url == URL
    assert PASSWORD not in composed.as_written
    assert PASSWORD not in str(mask_tree(composed.resolved, secrets(composed)))


@pytest.mark.parametrize("override", [f"dataset.source.url={URL}", f"seed={URL}", f"x=[{URL}é]", f"name='{URL}'"])
def test_no_fault_holds_a_password(mine: Any, override: str) -> None:
    assert not any(PASSWORD in str(fault) or "p@ss" in str(fault) for fault in mine.faults(override))
