"""What a study promises, in plain words, and what that rests on."""

from __future__ import annotations

from bestarm.methods import Method
from bestarm.reward import BOUNDED, HIGHEST, YES_NO


def promise(method: Method) -> str:
    """Guarantee, assumptions, and whether the number of agents is a part of it.

    >>> import bestarm
    >>> problem = bestarm.Problem(arms=["A", "B"], sigma=0.3, delta=0.05, epsilon=0.0)
    >>> print(promise(bestarm.method("sharp", problem, agents=10)).splitlines()[0])
    The arm that this study returns is the best one, except with probability at most 0.05.
    """
    said = [_guarantee(method), method.problem.aim, _agents(method), rests_on(method), *_doubts(method)]
    return "\n".join(said)


def _guarantee(method: Method) -> str:
    epsilon = method.problem.epsilon
    best = "the best one" if method.problem.goal == HIGHEST else "the best one, that with the lowest mean"
    what = best if epsilon == 0 else f"{best}, or within {epsilon:g} of it"
    return (
        f"The arm that this study returns is {what}, except with probability at most {method.problem.delta:g}."
    )


def _agents(method: Method) -> str:
    if method.test.counts_agents:
        return (
            f"The number of agents is a part of it: the stopping rule counts on at most {method.agents}. "
            "They may be slow, come late or never return."
        )
    return (
        f"The number of agents is not a part of it: {method.agents} only sets how large their batches are. "
        "They may be more or fewer, slow, come late or never return."
    )


def rests_on(method: Method) -> str:
    """Which test decides and what it assumes, in one sentence; every fact is from the test's own record.

    >>> import bestarm
    >>> said = rests_on(bestarm.method("sharp", bestarm.Problem(["A", "B"]), agents=10))
    >>> print(said.split(";")[0])
    The test rule-out compares arms inside batches
    >>> "noise is about normal with one sigma for all, which is measured" in said
    True
    """
    problem, test = method.problem, method.test
    parts = ["trials are independent"]
    if test.sites_alike:
        parts.append("an arm's mean is the same at every site and all the time")
    else:
        parts.append(
            "the same arm is the best at every site and all the time, however else sites and days differ"
        )
    if problem.rewards == YES_NO:
        parts.append("rewards are 0 or 1")
    elif problem.rewards == BOUNDED and problem.reward_range is not None:
        parts.append("rewards lie between {:g} and {:g}".format(*problem.reward_range))
    elif test.noise in ("known", "either") and problem.sigma is not None:
        scale = f"sub-Gaussian scale at most {problem.sigma:g}"
        parts.append(f"rewards scatter around their arm's mean with {scale}")
    elif test.noise == "either":
        parts.append("noise is about normal with one sigma for all, which is measured")
    if problem.items:
        parts.append("a site's items are drawn at random, and the best arm is the best on their average")
    parts.append("whether and when a site sends a batch does not depend on the rewards in it")
    if test.model.linear:
        parts.append("an arm's mean is a linear function of its features")
    if test.short_features:
        parts.append("the features of an arm and the unknown weights have length at most 1")
    what = f"The test {test.name} {test.how}" if test.how else f"The test is {test.name}"
    return f"{what}; it assumes that {'; '.join([*parts, *test.assumes])}."


def _doubts(method: Method) -> list[str]:
    if method.test.short_features and method.problem.features_too_long:
        longest = method.problem.longest_feature
        return [
            f"The longest feature vector has length {longest:.4g}, so the promise does not hold as it stands: "
            "set normalise = true in the problem file."
        ]
    return []
