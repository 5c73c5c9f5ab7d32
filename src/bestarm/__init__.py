"""Find the best of K options together: several sites, no rounds, one guarantee.

>>> import bestarm
>>> problem = bestarm.Problem(arms=["A", "B", "C"], means=[0.9, 0.5, 0.4], sigma=0.3, delta=0.05, epsilon=0.0)
>>> result = bestarm.simulate(problem, "sharp", agents=10, runs=20, seed=0)
>>> result.wrong
0

What is large is loaded when it is first used: a site needs no numpy, and a simulation no HTTP client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bestarm.errors import ProblemWarning, ServiceError, UserError

if TYPE_CHECKING:
    from bestarm.client.async_lab import AsyncLab, connect_async
    from bestarm.client.connect import connect
    from bestarm.client.doubt import Doubtful
    from bestarm.client.lab import Lab
    from bestarm.comparison import Comparison, compare
    from bestarm.core.plan import Plan
    from bestarm.core.tally import Tally
    from bestarm.estimation import Estimate, estimate
    from bestarm.local.create import create_study, open_study
    from bestarm.local.study import Study
    from bestarm.methods import METHODS, Method, method
    from bestarm.problem import Problem
    from bestarm.protocol.agent import Agent
    from bestarm.protocol.entries import Upload
    from bestarm.protocol.messages import Download, ProtocolError, Stop, Trial
    from bestarm.protocol.server import Server
    from bestarm.service.view.exports.export_file import read_export
    from bestarm.simulation.api import simulate
    from bestarm.simulation.result import Result
    from bestarm.simulation.schedule import Offline, Schedule
    from bestarm.sweeps.api import Sweep, sweep
    from bestarm.verdict import Verdict

__all__ = [
    "METHODS",
    "Agent",
    "AsyncLab",
    "Comparison",
    "Doubtful",
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
    "Study",
    "Sweep",
    "Tally",
    "Trial",
    "Upload",
    "UserError",
    "Verdict",
    "__version__",
    "compare",
    "connect",
    "connect_async",
    "create_study",
    "estimate",
    "method",
    "open_study",
    "read_export",
    "simulate",
    "sweep",
]

__version__ = "0.2.0"

# Where each of the others is. A module with the name of one of these would hide it once it was imported.
_PLACES = {
    "METHODS": "methods",
    "Agent": "protocol.agent",
    "AsyncLab": "client.async_lab",
    "Comparison": "comparison",
    "Doubtful": "client.doubt",
    "Download": "protocol.messages",
    "Estimate": "estimation",
    "Lab": "client.lab",
    "Method": "methods",
    "Offline": "simulation.schedule",
    "Plan": "core.plan",
    "Problem": "problem",
    "ProtocolError": "protocol.messages",
    "Result": "simulation.result",
    "Schedule": "simulation.schedule",
    "Server": "protocol.server",
    "Stop": "protocol.messages",
    "Study": "local.study",
    "Sweep": "sweeps.api",
    "Tally": "core.tally",
    "Trial": "protocol.messages",
    "Upload": "protocol.entries",
    "Verdict": "verdict",
    "compare": "comparison",
    "connect": "client.connect",
    "connect_async": "client.async_lab",
    "create_study": "local.create",
    "estimate": "estimation",
    "method": "methods",
    "open_study": "local.create",
    "read_export": "service.view.exports.export_file",
    "simulate": "simulation.api",
    "sweep": "sweeps.api",
}


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'bestarm' has no attribute {name!r}")
    try:
        value = getattr(import_module(f"bestarm.{_PLACES[name]}"), name)
    except ModuleNotFoundError as error:
        extra = "server" if _PLACES[name].startswith("local.") else "simulate"
        if str(error.name).startswith("bestarm") or (error.name != "numpy" and extra != "server"):
            raise
        needed = f'bestarm.{name} needs {error.name}, which a site does not: pip install "bestarm[{extra}]".'
        raise ModuleNotFoundError(needed, name=error.name) from None
    globals()[name] = value
    return value
