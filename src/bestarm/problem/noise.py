"""The checks of what is said about rewards: of which kind they are, how much they scatter, where they lie."""

from bestarm.errors import UserError
from bestarm.problem.checks import check_vector, check_word
from bestarm.reward import BOUNDED, NORMAL, YES_NO, Limits, check_number, check_size, show

KINDS = (NORMAL, YES_NO, BOUNDED)


def check_noise(
    rewards: object, sigma: object, reward_range: object
) -> tuple[str, float | None, Limits | None]:
    """The kind of the rewards, sigma where it is known, and the range where there is one.

    Rewards in a range [low, high] are (high − low)/2-sub-Gaussian (Hoeffding's lemma). For normal rewards the
    range is a check of what is typed, and nothing else.

    >>> check_noise(None, None, None), check_noise(None, None, [0, 4]), check_noise("yes-no", None, None)
    (('normal', None, None), ('bounded', 2.0, (0.0, 4.0)), ('yes-no', 0.5, (0.0, 1.0)))
    """
    limits = None if reward_range is None else check_limits(reward_range)
    if rewards is None:
        rewards = BOUNDED if limits is not None and sigma is None else NORMAL
    kind = check_word("rewards", rewards, KINDS)
    if kind == NORMAL:
        return kind, None if sigma is None else check_sigma(sigma), limits
    if sigma is not None:
        raise UserError(
            f"sigma is given, but rewards is {kind!r}, whose range says how they scatter; it must be left out."
        )
    if kind == YES_NO:
        if limits not in (None, (0.0, 1.0)):
            raise UserError(
                f"reward_range is {show(reward_range)}, but rewards is {kind!r} and they are 0 or 1; "
                "it must be left out."
            )
        limits = (0.0, 1.0)
    if limits is None:
        raise UserError(f"rewards is {kind!r}, but there is no reward_range; it must be given.")
    return kind, limits[1] / 2 - limits[0] / 2, limits


def check_sigma(value: object) -> float:
    """How much a reward scatters."""
    return check_size("sigma", check_number("sigma", value, "a finite number above 0", lambda x: x > 0))


def check_limits(value: object) -> Limits:
    """The lowest and the highest reward."""
    numbers = check_vector("reward_range", value).tolist()
    if len(numbers) != 2 or numbers[1] / 2 - numbers[0] / 2 <= 0:
        raise UserError(f"reward_range is {show(value)}; it must be [low, high] with low below high.")
    return numbers[0], numbers[1]
