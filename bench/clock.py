"""How long a call takes, for all benchmarks alike."""

import time
from collections.abc import Callable


def seconds(call: Callable[[], object]) -> float:
    """Return the processor time of one call: other programs on the machine don't count."""
    start = time.process_time()
    call()
    return time.process_time() - start
