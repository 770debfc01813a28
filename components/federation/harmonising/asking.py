"""What the server asks sites while levels are agreed on, and in which kinds of messages they answer."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

Levels = Mapping[str, int]
"""Level by quasi-identifier, as its hierarchy counts them."""

Kind = Literal["hierarchies", "optimum", "unreachable", "weights", "node", "measured"]

Question = Literal["hierarchies", "optimum", "weights", "look", "publish", "measured"]
"""Digests; its own best levels, or those from some upwards; what bounds its loss; what levels would come to; to publish
on levels; what it reaches on what it publishes."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One question of the server.

    Parameters
    ----------
    question : str
    of : sequence of str
        The sites that it goes to.
    about : mapping of str to int, optional
        Levels that it names.
    """

    question: Question
    of: Sequence[str]
    about: Levels | None = None


class Heard(NamedTuple):
    """What the server reads of a site's answer."""

    kind: Kind
    content: Any


Result = TypeVar("Result")
Talk = Generator[Ask, Mapping[str, Heard], Result]
"""The server's side: yields questions, is sent the answers by site, and returns what came of it all."""
