"""The nearest valid spelling of a word or a config path."""

from collections.abc import Iterable
from difflib import SequenceMatcher

LEAST = 0.6
"""Similarity below which a suggestion would confuse more than it helps."""


def nearest(word: str, candidates: Iterable[str]) -> str:
    """Return the candidate most like `word`, or ``""`` when none is alike.

    Similarity is the share of matching characters (Ratcliff and Obershelp 1988), case ignored.
    """
    return _best((_alike(word, candidate), candidate) for candidate in candidates)


def nearest_path(path: str, candidates: Iterable[str]) -> str:
    """Return the dotted path most like `path`, or ``""`` when none is alike.

    Paths are compared part by part from their ends, so that ``annon.k`` finds ``anonymization.k`` and a bare
    ``min_samples_leaf`` finds ``model.min_samples_leaf``.
    """
    return _best((_paths_alike(path, candidate), candidate) for candidate in candidates)


def did_you_mean(suggestion: str) -> str:
    """Return the question that offers a suggestion; empty without one."""
    return f"did you mean {suggestion}?" if suggestion else ""


def _best(scored: Iterable[tuple[float, str]]) -> str:
    # Of equals the shorter wins, then the earlier in the alphabet: the answer never depends on the order given.
    ranked = sorted(scored, key=lambda pair: (-pair[0], len(pair[1]), pair[1]))
    return ranked[0][1] if ranked and ranked[0][0] >= LEAST else ""


def _alike(word: str, candidate: str) -> float:
    """Return the similarity in [0, 1]; an abbreviation is compared with the candidate's beginning too."""
    word, candidate = word.lower(), candidate.lower()
    whole = SequenceMatcher(None, word, candidate).ratio()
    if len(word) < 3 or len(candidate) <= len(word):
        return whole
    begun = SequenceMatcher(None, word, candidate[: len(word)]).ratio()
    return max(whole, 0.95 * begun if word[0] == candidate[0] else 0.0)


def _paths_alike(path: str, candidate: str) -> float:
    given, offered = path.split("."), candidate.split(".")
    shared = min(len(given), len(offered))
    pairs = [_alike(left, right) for left, right in zip(given[-shared:], offered[-shared:], strict=True)]
    # Every part must be alike: a fitting last part alone says nothing about the rest.
    if min(pairs) < 0.5:
        return 0.0
    return sum(pairs) / shared * (1.0 if len(given) == len(offered) else 0.85)
