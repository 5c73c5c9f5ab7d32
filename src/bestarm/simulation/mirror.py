"""Rewards as a method's rules see them, for whom the highest is always the best."""

from __future__ import annotations

from bestarm.methods.composed import Method
from bestarm.simulation.environment import Environment


def mirrored(environment: Environment, method: Method) -> Environment:
    """Where rewards come from, on the method's side: reflected if it looks for the lowest mean.

    The same seed then gives the same run on a problem and on its mirror image.

    >>> import bestarm
    >>> from bestarm.simulation.environment import environment
    >>> problem = bestarm.Problem(["A", "B"], means=[0.2, 0.9], rewards="yes-no", goal="lowest")
    >>> mirrored(environment(problem), bestarm.method("sharp", problem)).means.round(9).tolist()
    [0.8, 0.1]
    """
    if method.mirror is None:
        return environment
    return environment._replace(
        means=method.reflect(environment.means),
        low=method.reflect(environment.high),
        high=method.reflect(environment.low),
        centre=method.reflect(environment.centre),
        values=method.reflect(environment.values),
    )
