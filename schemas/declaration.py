"""The base of every declaration: a component's parameters, and where its code is."""

from typing import ClassVar

from schemas.base import Contract


class Declaration(Contract):
    """The parameters of one component under its short registered name.

    A subclass lists the parameters as typed fields; ``component`` names the code as ``"module:attribute"``, which is
    imported only when it is used.
    """

    component: ClassVar[str] = ""
    name: str
