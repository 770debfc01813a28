"""What a library raises or warns of is put into our own words."""

from warnings import warn

import pytest
from sklearn.exceptions import ConvergenceWarning

from components.models.watching import RAISED, watched
from schemas.faults import ConfigurationError, DataError, Fault

CANARY = "ZZ-CANARY-7731"


@pytest.mark.parametrize("kind", [*RAISED, NotImplementedError, KeyError, ZeroDivisionError])
def test_an_exception_is_told_by_its_type_alone(kind: type[Exception]) -> None:
    with pytest.raises(ConfigurationError) as caught, watched("mlp", "be fitted on these rows", "torch"):
        raise kind(CANARY)
    (fault,) = caught.value.faults
    assert str(fault) == (
        f"model: mlp can't be fitted on these rows ({kind.__name__}); change its parameters or choose another model; "
        "show_values=true shows torch's words"
    )
    assert CANARY in fault.values  # no frame
    assert caught.value.__suppress_context__


def test_our_own_faults_and_all_else_pass() -> None:
    with pytest.raises(DataError, match="said already"), watched("mlp", "predict", "torch"):
        raise DataError(Fault("rows", "said already"))
    with pytest.raises(KeyboardInterrupt), watched("mlp", "predict", "torch"):
        raise KeyboardInterrupt


def test_warnings_become_notes_once_each() -> None:
    with watched("Net", "predict", "torch") as notes:
        notes.append("its own")
        for kind in (UserWarning, ConvergenceWarning, UserWarning):
            warn(CANARY, kind, stacklevel=1)
    assert notes == [
        "its own",
        "torch gave a UserWarning about Net",
        "Net stopped before it converged; raise max_iter",
    ]
