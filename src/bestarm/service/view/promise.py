"""What a study promises, in plain words, and what that rests on."""

from __future__ import annotations

from bestarm.methods import Method

COUNTS_AGENTS = ("famabpe", "falinpe")  # stopping rules in which the number of agents appears
BOUNDED = ("falinpe", "lingape")  # stopping rules whose proof needs features and theta of length at most 1
USES_FEATURES = ("falinpe", "lingape", "span")


def promise(method: Method) -> str:
    """Guarantee, assumptions, and whether the number of agents is a part of it.

    >>> import bestarm
    >>> problem = bestarm.Problem(arms=["A", "B"], sigma=0.3, delta=0.05, epsilon=0.0)
    >>> print(promise(bestarm.method("sharp", problem, agents=10)).splitlines()[0])
    The arm that this study returns is the best one, except with probability at most 0.05.
    """
    return "\n".join([_guarantee(method), _agents(method), _assumptions(method), *_doubts(method)])


def _guarantee(method: Method) -> str:
    epsilon = method.problem.epsilon
    what = "the best one" if epsilon == 0 else f"the best one or within {epsilon:g} of it"
    return (
        f"The arm that this study returns is {what}, except with probability at most {method.problem.delta:g}."
    )


def _agents(method: Method) -> str:
    if method.parameters["stopping"] in COUNTS_AGENTS:
        return (
            f"The number of agents is a part of it: the stopping rule counts on at most {method.agents}. "
            "They may be slow, come late or never return."
        )
    return (
        f"The number of agents is not a part of it: {method.agents} only sets how large their batches are. "
        "They may be more or fewer, slow, come late or never return."
    )


def _assumptions(method: Method) -> str:
    problem = method.problem
    if problem.reward_range is None:
        noise = f"rewards scatter around their arm's mean with sub-Gaussian scale at most {problem.sigma:g}"
    else:
        low, high = problem.reward_range
        noise = f"rewards lie between {low:g} and {high:g}"
    parts = [
        noise,
        "trials are independent",
        "an arm's mean is the same at every site and all the time",
        "whether and when a site sends a batch does not depend on the rewards in it",
    ]
    if method.parameters["stopping"] in USES_FEATURES:
        parts.append("an arm's mean is a linear function of its features")
    if method.parameters["stopping"] in BOUNDED:
        parts.append("the features of an arm and the unknown weights have length at most 1")
    return f"It assumes that {'; '.join(parts)}."


def _doubts(method: Method) -> list[str]:
    if method.parameters["stopping"] in BOUNDED and method.problem.features_too_long:
        longest = method.problem.longest_feature
        return [
            f"The longest feature vector has length {longest:.4g}, so the promise does not hold as it stands: "
            "set normalise = true in the problem file."
        ]
    return []
