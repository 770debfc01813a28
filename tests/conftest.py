"""What holds for all tests."""

import signal
import sys

from absl import logging as absl_logging

# absl, which Keras brings, keeps whatever stands for standard error when it is imported, and closes it when logging is
# set up anew, as Hydra does: here that would be the stream that pytest captures all tests with.
absl_logging.get_absl_handler().python_handler.stream = sys.__stderr__

# What a shell runs in the background, or under nohup, ignores these signals, and so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
