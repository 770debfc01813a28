"""What holds for all tests."""

import signal
import sys

from absl import logging as absl_logging
from hypothesis import settings

# absl, which Keras brings, keeps whatever stands for standard error when it is imported, and closes it when logging is
# set up anew, as Hydra does: here that would be the stream that pytest captures all tests with.
absl_logging.get_absl_handler().python_handler.stream = sys.__stderr__

# The same examples at every run, however busy the machine: a change is what fails, and no draw. Other ones are looked
# for with --hypothesis-profile=default.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")

# What a shell runs in the background, or under nohup, ignores these signals, and so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
