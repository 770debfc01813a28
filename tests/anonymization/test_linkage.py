"""Sets of classes that persons share, against a plain comparison of everybody with everybody."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from components.anonymization.linkage import alike

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), min_size=1, max_size=30)


def sizes_of(pairs: list[tuple[int, int]], n_classes: int) -> list[int]:
    people, persons = np.unique([person for person, _ in pairs], return_inverse=True)
    return sorted(alike(persons, len(people), np.array([class_ for _, class_ in pairs]), n_classes).tolist())


@settings(deadline=None)
@given(PAIRS)
def test_persons_are_alike_whose_rows_are_in_the_same_classes(pairs: list[tuple[int, int]]):
    sets = {person: frozenset(class_ for other, class_ in pairs if other == person) for person, _ in pairs}
    assert sizes_of(pairs, 5) == sorted(Counter(sets.values()).values())


def test_a_set_is_neither_the_sum_of_its_classes_nor_how_many_they_are():
    assert sizes_of([(0, 0), (0, 3), (1, 1), (1, 2), (2, 3), (3, 1), (3, 1)], 4) == [1, 1, 1, 1]


def test_how_many_rows_are_in_a_class_makes_no_difference():
    assert sizes_of([(0, 2), (0, 2), (0, 1), (1, 1), (1, 2)], 3) == [2]


def test_without_persons_there_is_no_set():
    assert not alike(np.zeros(0, dtype=int), 0, np.zeros(0, dtype=int), 1).size


def test_persons_of_many_classes_are_told_apart():
    persons = np.repeat(np.arange(2000), 50)
    classes = np.tile(np.arange(50), 2000) + 50 * (persons % 1000)
    assert alike(persons, 2000, classes, 50_000).tolist() == [2] * 1000
    classes[0] = 49_999
    assert sorted(alike(persons, 2000, classes, 50_000).tolist()) == [1, 1] + [2] * 999
