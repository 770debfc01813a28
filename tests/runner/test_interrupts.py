import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

from runner import interrupts
from runner.interrupts import SIGNALS, Interrupts, heeded, interruptible
from runner.outcome import INTERRUPTED, guarded
from schemas.faults import ConfigurationError, Fault


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(interrupts, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize("number", SIGNALS)
def test_every_polite_signal_becomes_a_keyboard_interrupt(number: signal.Signals):
    before = {each: signal.getsignal(each) for each in SIGNALS}
    with pytest.raises(KeyboardInterrupt), interruptible():
        os.kill(os.getpid(), number)
    assert {each: signal.getsignal(each) for each in SIGNALS} == before


def test_a_signal_in_a_protected_passage_waits_for_its_end():
    passed = []

    def body(held: Interrupts) -> None:
        with held.deferred():
            with held.deferred():
                os.kill(os.getpid(), signal.SIGTERM)
                passed.append("inner")
            passed.append("outer")
        passed.append("after")

    with interruptible() as held, pytest.raises(KeyboardInterrupt):
        body(held)
    assert passed == ["inner", "outer"]


def test_a_signal_while_the_end_is_under_way_passes_by():
    with interruptible() as held:
        with held.ignored():
            os.kill(os.getpid(), signal.SIGINT)
        with held.deferred():
            pass


def test_an_error_in_a_protected_passage_is_not_replaced_by_a_waiting_signal():
    def body(held: Interrupts) -> None:
        with held.deferred():
            os.kill(os.getpid(), signal.SIGINT)
            raise ZeroDivisionError

    with interruptible() as held, pytest.raises(ZeroDivisionError):
        body(held)


def test_a_second_signal_at_once_does_not_disturb_the_first_but_a_later_one_counts(clock: list[float]):
    held = Interrupts()
    with pytest.raises(KeyboardInterrupt):
        held.arrived(2, None)
    held.arrived(2, None)
    clock[0] += 1.5
    with pytest.raises(KeyboardInterrupt):
        held.arrived(2, None)


def test_signals_that_the_process_was_started_to_ignore_stay_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_outside_the_main_thread_the_block_runs_as_it_is():
    ran = []

    def body() -> None:
        with interruptible() as held, held.deferred():
            ran.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert ran == [signal.getsignal(signal.SIGINT)]


def swallowed() -> int:
    """Do what libraries that call back from compiled code do with an exception that is none of theirs."""
    with suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    return 0


def translated() -> int:
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise ConfigurationError(Fault("place", "made of a signal")) from None
    return 0


@pytest.mark.parametrize("act", [swallowed, translated])
def test_whatever_is_made_of_a_signal_a_command_ends_as_interrupted(
    act: Callable[[], int], capsys: pytest.CaptureFixture[str]
):
    assert guarded(act) == INTERRUPTED
    assert capsys.readouterr().err == "interrupted\n"


def test_a_swallowed_signal_keeps_the_next_passage_from_beginning():
    begun = []

    def body(held: Interrupts) -> None:
        swallowed()
        with held.heeded():
            begun.append("passage")

    with interruptible() as held, pytest.raises(KeyboardInterrupt):
        body(held)
    assert begun == []


def test_a_signal_is_answered_once(capsys: pytest.CaptureFixture[str]):
    assert guarded(lambda: guarded(swallowed)) == INTERRUPTED
    assert guarded(lambda: 0) == 0
    assert capsys.readouterr().err == "interrupted\n"


def test_blocks_within_a_block_share_its_memory():
    before = signal.getsignal(signal.SIGINT)
    with interruptible() as outer:
        with pytest.raises(KeyboardInterrupt), heeded():
            swallowed()
        with interruptible() as inner:
            assert inner is outer
        assert signal.getsignal(signal.SIGINT) == outer.arrived
    assert signal.getsignal(signal.SIGINT) == before
    with heeded():  # and what comes after starts without it
        pass


def test_an_error_of_its_own_passes():
    with pytest.raises(ZeroDivisionError), heeded():
        raise ZeroDivisionError


def test_a_process_that_has_its_exit_code_only_leaves():
    before = {each: signal.getsignal(each) for each in SIGNALS}
    try:
        with interruptible() as held:
            held.over = True
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
