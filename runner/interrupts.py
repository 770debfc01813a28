"""Ctrl-C and the polite signals: an orderly way out, and short passages that they can't cut in two."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import ClassVar, NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

UNWINDING_SECONDS = 1.0
"""A further signal this soon after one that was delivered is the same wish, still on its way."""


class Interrupts:
    """Delivers signals as ``KeyboardInterrupt``, but not in the middle of a protected passage.

    What was delivered is remembered until it is answered: libraries that call back from compiled code swallow the
    exception, or make another of it. Where ``over`` is set, the process has its exit code and only leaves: signals are
    ignored from then on, behind the block, too.
    """

    current: ClassVar["Interrupts | None"] = None
    """That of the outermost block of `interruptible` under way."""

    def __init__(self) -> None:
        self._depth = 0
        self._pending = False
        self._delivered = float("-inf")
        self._unanswered = False
        self.over = False

    def arrived(self, _number: int, _frame: FrameType | None) -> None:
        """Handle a signal (to be passed to `signal.signal`)."""
        if self.over:
            return
        if self._depth or monotonic() - self._delivered < UNWINDING_SECONDS:
            self._pending = True
        else:
            self._deliver()

    def _deliver(self) -> NoReturn:
        self._pending, self._unanswered = False, True
        self._delivered = monotonic()
        raise KeyboardInterrupt

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Hold signals back until the end of the passage, then deliver."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
        if self._pending and not self._depth:
            self._deliver()

    @contextmanager
    def ignored(self) -> Iterator[None]:
        """Let signals that come in the passage pass by: what they ask for is already under way."""
        self._depth += 1
        try:
            yield
        finally:
            self._pending = False
            self._depth -= 1

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Raise ``KeyboardInterrupt`` where a signal is unanswered, before the passage or in place of any other end."""
        if self._unanswered:
            raise KeyboardInterrupt
        try:
            yield
        except KeyboardInterrupt:
            raise
        except BaseException:  # a panic of compiled code is no Exception
            if self._unanswered:
                raise KeyboardInterrupt from None
            raise
        if self._unanswered:
            raise KeyboardInterrupt

    def answered(self) -> None:
        """Note that what was delivered has ended what it was to end."""
        self._unanswered = False


@contextmanager
def interruptible() -> Iterator[Interrupts]:
    """Turn SIGINT, SIGTERM and SIGHUP into ``KeyboardInterrupt`` within the block.

    Signals that the process was started to ignore (``nohup``) stay ignored. Outside the main thread Python allows
    no handlers: there the block runs as it is. A block within another shares the outer one's memory.

    Yields
    ------
    Interrupts
        Protects passages that must not be cut in two.
    """
    if threading.current_thread() is not threading.main_thread():
        yield Interrupts()
        return
    if Interrupts.current is not None:
        yield Interrupts.current
        return
    interrupts = Interrupts()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    heeded = [number for number, handler in before.items() if handler not in {signal.SIG_IGN, None}]
    try:
        Interrupts.current = interrupts
        for number in heeded:
            signal.signal(number, interrupts.arrived)
        yield interrupts
    finally:
        Interrupts.current = None
        for number in heeded:
            signal.signal(number, signal.SIG_IGN if interrupts.over else before[number])


@contextmanager
def heeded() -> Iterator[None]:
    """Let a signal that comes in the block end it, whatever a library makes of it (see `Interrupts.heeded`)."""
    with interruptible() as interrupts, interrupts.heeded():
        yield
