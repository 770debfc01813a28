from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from runner.tree import deepest, dotted, get, holds, references, resolve, walk

TREES = st.recursive(
    st.integers() | st.text("ab") | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("xyz", min_size=1), inner, max_size=3),
    max_leaves=12,
).filter(lambda tree: isinstance(tree, dict))


@given(TREES)
def test_every_node_that_is_walked_is_held_and_found(tree: dict[str, Any]) -> None:
    for path, value in walk(tree):
        assert holds(tree, path)
        assert get(tree, path) is value
        assert not holds(tree, (*path, "elsewhere"))
        assert deepest(tree, (*path, "elsewhere")) == len(path)


@given(TREES)
def test_a_tree_without_interpolations_resolves_to_itself(tree: dict[str, Any]) -> None:
    resolved = resolve(OmegaConf.create(tree))
    assert resolved.plain == tree
    assert not resolved.unusable()


def test_every_kind_of_trouble_is_found_in_one_pass() -> None:
    config = OmegaConf.create(
        {"a": "???", "b": "${a}", "c": "${nowhere}", "d": {"e": "???"}, "f": ["${d.e}", 2], "g": "${d}", "h": 7}
    )
    resolved = resolve(config)
    assert resolved.missing == [("a",), ("d", "e")]
    assert set(resolved.broken) == {("c",)}
    assert set(resolved.dependent) == {("b",), ("f", 0), ("g",)}
    assert resolved.plain == {"d": {}, "f": [None, 2], "h": 7}


def test_interpolated_sections_come_as_plain_containers() -> None:
    resolved = resolve(OmegaConf.create({"a": {"b": [1, "${c}"]}, "c": 2, "d": "${a}"}))
    assert resolved.plain["d"] == {"b": [1, 2]}
    assert type(resolved.plain["d"]["b"]) is list


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("${a.b}", {("a", "b")}),
        ("${.b}", {("x", "y", "b")}),
        ("${..b}-${c}", {("x", "b"), ("c",)}),
        ("${a.0.k} ${a[1]}", {("a", 0, "k"), ("a", 1)}),
        ("${oc.env:HOME}", set()),
        ("plain", set()),
    ],
)
def test_references_are_absolute(text: str, ends: set[tuple[str | int, ...]]) -> None:
    assert references(text, ("x", "y", "z")) == ends


def test_paths_are_told_as_they_are_typed() -> None:
    assert dotted(("a", 0, "b")) == "a.0.b"
