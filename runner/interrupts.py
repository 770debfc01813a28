"""Ctrl-C and the polite signals: an orderly way out, and short passages that they can't cut in two."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

UNWINDING_SECONDS = 1.0
"""A further signal this soon after one that was delivered is the same wish, still on its way."""


class Interrupts:
    """Delivers signals as ``KeyboardInterrupt``, but not in the middle of a protected passage.

    Where ``over`` is set, the process has its exit code and only leaves: signals are ignored behind the block, too.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._pending = False
        self._delivered = float("-inf")
        self.over = False

    def arrived(self, _number: int, _frame: FrameType | None) -> None:
        """Handle a signal (to be passed to `signal.signal`)."""
        if self._depth or monotonic() - self._delivered < UNWINDING_SECONDS:
            self._pending = True
        else:
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
            self._pending = False
            self._delivered = monotonic()
            raise KeyboardInterrupt

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
def interruptible() -> Iterator[Interrupts]:
    """Turn SIGINT, SIGTERM and SIGHUP into ``KeyboardInterrupt`` within the block.

    Signals that the process was started to ignore (``nohup``) stay ignored. Outside the main thread Python allows
    no handlers: there the block runs as it is.

    Yields
    ------
    Interrupts
        Protects passages that must not be cut in two.
    """
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    heeded = [number for number, handler in before.items() if handler not in {signal.SIG_IGN, None}]
    try:
        for number in heeded:
            signal.signal(number, interrupts.arrived)
        yield interrupts
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_IGN if interrupts.over else before[number])
