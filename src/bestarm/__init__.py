"""Find the best of K options together: several sites, no rounds, one guarantee.

>>> import bestarm
>>> problem = bestarm.Problem(arms=["A", "B", "C"], means=[0.9, 0.5, 0.4], sigma=0.3, delta=0.05, epsilon=0.0)
>>> result = bestarm.simulate(problem, "sharp", agents=10, runs=20, seed=0)
>>> result.wrong
0
"""

from typing import TYPE_CHECKING, Any

from bestarm.core.plan import Plan
from bestarm.core.tally import Tally
from bestarm.errors import ProblemWarning, ServiceError, UserError
from bestarm.estimate import Estimate, estimate
from bestarm.methods import METHODS, Method, Verdict, method
from bestarm.problem import Problem
from bestarm.protocol.agent import Agent
from bestarm.protocol.entries import Upload
from bestarm.protocol.messages import Download, ProtocolError, Stop, Trial
from bestarm.protocol.server import Server
from bestarm.simulation.api import simulate
from bestarm.simulation.result import Result
from bestarm.simulation.schedule import Offline, Schedule
from bestarm.sweeps.api import Sweep, sweep

if TYPE_CHECKING:
    from bestarm.client.remote import Lab, connect

__all__ = [
    "METHODS",
    "Agent",
    "Download",
    "Estimate",
    "Lab",
    "Method",
    "Offline",
    "Plan",
    "Problem",
    "ProblemWarning",
    "ProtocolError",
    "Result",
    "Schedule",
    "Server",
    "ServiceError",
    "Stop",
    "Sweep",
    "Tally",
    "Trial",
    "Upload",
    "UserError",
    "Verdict",
    "__version__",
    "connect",
    "estimate",
    "method",
    "simulate",
    "sweep",
]

__version__ = "0.1.0"


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """`connect` and `Lab` are loaded when they are first used: simulations don't need an HTTP client."""
    if name in ("Lab", "connect"):
        from bestarm.client import remote

        return getattr(remote, name)
    raise AttributeError(f"module 'bestarm' has no attribute {name!r}")
