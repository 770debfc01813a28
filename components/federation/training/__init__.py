"""The embedded engine: trains the clients of a round in this process, stacked or one after the other.

Networks of torch modules, and weights in and out of them, are in `components.federation.training.modules`, which takes
torch to import.
"""

from components.federation.training.dense import Dense
from components.federation.training.engines import Looped, Stacked

__all__ = ["Dense", "Looped", "Stacked"]
