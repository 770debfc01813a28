"""What a model's library raises and warns of can hold cell values: here it is put into our own words."""

from collections.abc import Iterator
from contextlib import contextmanager
from warnings import catch_warnings, simplefilter

from schemas.faults import ConfigurationError, Fault

RAISED = (ValueError, TypeError, ArithmeticError, LookupError, RuntimeError, AttributeError, AssertionError)
"""What libraries, and the code of users inside them, raise when parameters and rows don't go together."""


@contextmanager
def watched(name: str, doing: str, framework: str) -> Iterator[list[str]]:
    """Turn exceptions into faults and warnings into notes, both without the library's words.

    Parameters
    ----------
    name : str
        What the model is called.
    doing : str
        What it is about to do, as in "can't be fitted on these rows".
    framework : str
        Whose words they are.

    Yields
    ------
    list of str
        Notes; those of warnings are added at the end.

    Raises
    ------
    ConfigurationError
        The library raised one of `RAISED`; its words stand in the fault's ``values`` alone.
    """
    said: list[str] = []
    with catch_warnings(record=True) as caught:
        simplefilter("always")
        try:
            yield said
        except RAISED as error:
            remedy = "change its parameters or choose another model"
            raise ConfigurationError(
                Fault(
                    "model",
                    f"{name} can't {doing} ({type(error).__name__})",
                    remedy=f"{remedy}; show_values=true shows {framework}'s words",
                    values=str(error),
                )
            ) from None
    said.extend(dict.fromkeys(_said(name, warning.category.__name__, framework) for warning in caught))


def _said(name: str, warning: str, framework: str) -> str:
    if warning == "ConvergenceWarning":
        return f"{name} stopped before it converged; raise max_iter"
    return f"{framework} gave a {warning} about {name}"
