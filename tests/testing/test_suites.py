"""Everything registered passes the suites that ship with the package, and what is wrong does not."""

import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from toys import SCATTERED, known

from bestarm.core.arrays import Counts, Floats
from bestarm.core.batch import Batch
from bestarm.core.breaking import Reading, read
from bestarm.core.estimate import SEPARATE, fold_separate
from bestarm.core.making import one_arm
from bestarm.core.rules import Choose, Fire, Foresee, Selection, Test
from bestarm.core.selection.balance import BALANCE
from bestarm.core.setting import Setting
from bestarm.core.state import State, Totals
from bestarm.core.stopping.famabpe import FAMABPE, famabpe, radii
from bestarm.core.stopping.pairs import PAIRS, pair_radius
from bestarm.methods import Recipe
from bestarm.testing import METHODS, TESTS, check_method, check_test
from bestarm.testing.methods import plans_are_valid, studies_are_their_logs
from bestarm.testing.worlds import methods_on_worlds

# Each set of rules takes half a minute to compile. Of the field these two show that turns and draws compile;
# the others are tried on the loop as it stands.
COMPILED_OF_THE_FIELD = ("ttts", "sync-elimination")


@pytest.mark.parametrize("name", METHODS)
def test_every_method(name: str) -> None:
    check_method(name, compiled=not METHODS[name].field or name in COMPILED_OF_THE_FIELD)


def test_a_test_from_elsewhere_is_enrolled_by_being_registered() -> None:
    """With a state of its own and functions of its own."""
    with known(SCATTERED):
        assert "scattered" in TESTS
        check_test("scattered")
    assert "scattered" not in TESTS
    with pytest.raises(AssertionError, match="scattered is no registered test"):
        check_test("scattered")
    with pytest.raises(AssertionError, match="mine is no registered method"):
        check_method("mine")


# Tests that are wrong


def halved(state: Totals, setting: Setting) -> Reading:
    """The pair test with half of its threshold."""
    leader = int(np.argmax(state.estimate.values))
    level = 0.5 * np.log((setting.counted - 1) / setting.delta)
    widths = np.zeros(setting.arms)
    for k in range(setting.arms):
        if k != leader:
            widths[k] = pair_radius(state.pulls[leader], state.pulls[k], level, setting.pseudo_count)
    return read(state.estimate.values, leader, widths, 0.0, setting.sigma, setting.epsilon)


def fold_nothing(state: Totals, batch: Batch, setting: Setting) -> Totals:
    """Each arm's first batch, and none after it."""
    return fold_separate(state, batch, setting) if state.pulls.min() == 0 else state


def fold_by_site(state: Totals, batch: Batch, setting: Setting) -> Totals:
    """A site counts for more than another one."""
    state = fold_separate(state, batch, setting)
    state.estimate.values[0] += 0.01 * batch.site
    return state


def deaf(state: Totals, setting: Setting) -> Reading:
    """A test to which delta makes no difference."""
    return famabpe(state, setting._replace(delta=0.05))


def generous(state: Totals, setting: Setting) -> Reading:
    """A union that gets cheaper with more arms."""
    return famabpe(state, setting._replace(delta=setting.delta * setting.counted**2))


def early(state: Totals, setting: Setting) -> Reading:
    """Evidence that says another thing than the index."""
    reading = famabpe(state, setting)
    return Reading(reading.leader, reading.challenger, reading.breaking_index, reading.evidence + 1.0)


def forgetful(state: Totals, setting: Setting) -> Reading:
    """Reading that wears the state out."""
    reading = famabpe(state, setting)
    state.sums[0] += 1.0
    return reading


def narrow(state: Totals, setting: Setting) -> Floats:
    """A fifth of the radius."""
    fifth: Floats = 0.2 * radii(state, setting)
    return fifth


WRONG: dict[str, tuple[Test, str]] = {
    "threshold halved": (replace(PAIRS, read=halved), "is wrong too often: "),
    "state not folded": (
        replace(FAMABPE, model=SEPARATE._replace(fold=fold_nothing)),
        "not the pulls that were folded",
    ),
    "sites that matter": (
        replace(FAMABPE, model=SEPARATE._replace(fold=fold_by_site)),
        "the site makes a difference",
    ),
    "delta ignored": (replace(FAMABPE, read=deaf), "delta makes no difference"),
    "more arms are cheaper": (replace(FAMABPE, read=generous), "with more arms to pay for it is surer"),
    "evidence by itself": (replace(FAMABPE, read=early), "evidence and breaking index disagree"),
    "reading changes the state": (replace(FAMABPE, read=forgetful), "reading changes the state"),
    "narrow intervals": (replace(FAMABPE, radii=narrow), "its intervals miss the truth too often"),
    "no help": (replace(FAMABPE, help=""), "has no help"),
    "growth reversed": (replace(FAMABPE, growth=(2.0, 1.0)), "it must be two exponents in order"),
    "squares for nothing": (replace(FAMABPE, squares=True), "they make no difference"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_test_is_noticed(case: str) -> None:
    record, sentence = WRONG[case]
    with known(replace(record, name="wrong")), pytest.raises(AssertionError) as caught:
        check_test("wrong")
    assert str(caught.value).startswith("the test wrong")
    assert sentence in str(caught.value)


# Methods that are wrong


def no_pulls(
    state: State,
    reading: Reading,
    setting: Setting,
    foresee: Foresee,
    choose: Choose,
    trigger: Fire,
    arms: Counts,
    counts: Counts,
) -> int:
    """A plan without a pull."""
    made = one_arm(state, reading, setting, foresee, choose, trigger, arms, counts)
    counts[0] = 0
    return made


mood = random.Random(1)


def moody(
    state: State,
    reading: Reading,
    setting: Setting,
    foresee: Foresee,
    choose: Choose,
    trigger: Fire,
    arms: Counts,
    counts: Counts,
) -> int:
    """A plan that depends on the mood."""
    arms[0], counts[0] = mood.randrange(setting.arms), 1
    return 1


def recipe(selection: str) -> Recipe:
    def defaults(problem: object, agents: int) -> dict[str, int | float | str]:
        """A method that is wrong."""
        return {"stopping": "famabpe", "selection": selection, "trigger": "count", "gamma": 0.1}

    return replace(METHODS["famabpe"], name="wrong", defaults=defaults)


@pytest.mark.parametrize(
    ("make", "law", "sentence"),
    [
        (no_pulls, plans_are_valid, "it makes a plan without a pull"),
        (moody, plans_are_valid, "the same state gets another plan"),
        (moody, studies_are_their_logs, "after a replay an entry gets another answer"),
    ],
)
def test_a_wrong_method_is_noticed(make: Callable[..., int], law: Callable[..., None], sentence: str) -> None:
    selection: Selection = replace(BALANCE, name="wrong", make=make)
    with known(selection, recipe("wrong")):
        (method, *_) = methods_on_worlds("wrong").values()
        with pytest.raises(AssertionError, match=sentence):
            law(method, "wrong")
        with pytest.raises(AssertionError, match=r"^wrong on the tabular problem: "):
            check_method("wrong")


def test_the_suites_need_no_pytest() -> None:
    command = "import sys, bestarm.testing; print('pytest' in sys.modules, 'numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
