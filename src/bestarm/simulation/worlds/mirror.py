"""Rewards as a method's rules see them, for whom the highest is always the best."""

from __future__ import annotations

from bestarm.methods.composed import Method
from bestarm.simulation.worlds.environment import Environment


def mirrored(environment: Environment, method: Method) -> Environment:
    """Where rewards come from, on the method's side: reflected if it looks for the lowest mean.

    Means, ends of a range and measured values change sides, what is added to them changes its sign: for yes-no
    too, where it is added to the log odds, since those of 1 − p are minus those of p. Done twice it changes
    nothing. The same seed then gives the same run on a problem and on its mirror image.

    >>> import bestarm
    >>> from bestarm.simulation.worlds.environment import environment
    >>> problem = bestarm.Problem(["A", "B"], means=[0.2, 0.9], rewards="yes-no", goal="lowest")
    >>> mirrored(environment(problem), bestarm.method("sharp", problem)).means.round(9).tolist()
    [0.8, 0.1]
    """
    if method.mirror is None:
        return environment
    return environment._replace(
        levels=method.reflect(environment.levels),
        low=method.reflect(environment.high),
        high=method.reflect(environment.low),
        centre=method.reflect(environment.centre),
        values=method.reflect(environment.values),
        drift=-environment.drift,
    )
