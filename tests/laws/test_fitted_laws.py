"""A plan that is made to fit a site: whole plates, the same proportions, and no arm that the site can't do."""

from hypothesis import given
from hypothesis import strategies as st

from bestarm.core.plan import Plan

ARMS = 6
plans = st.dictionaries(st.integers(0, ARMS - 1), st.integers(1, 500), min_size=1).map(
    lambda counts: Plan(tuple(counts), tuple(counts.values()))
)
plates = st.one_of(st.none(), st.integers(1, 400))
arms_it_can_not_do = st.sets(st.integers(0, ARMS - 1), max_size=ARMS - 1)
pulls = st.lists(st.integers(0, 100), min_size=ARMS, max_size=ARMS)


@given(plans, plates, arms_it_can_not_do, pulls)
def test_what_fits(plan: Plan, plate: int | None, cannot: set[int], known: list[int]) -> None:
    fitted = plan.fitted(plate, cannot, known)
    # Whole plates, as few as hold the plan; without a plate not one trial more or less.
    wanted = plan.size if plate is None else -(-plan.size // plate) * plate
    assert fitted.size == wanted
    assert not set(fitted.arms) & cannot
    assert len(set(fitted.arms)) == len(fitted.arms)
    assert all(count > 0 for count in fitted.counts)
    # The arms that are left keep their proportions, to within one pull, and their order.
    able = [(arm, count) for arm, count in zip(plan.arms, plan.counts, strict=True) if arm not in cannot]
    together = sum(count for _, count in able)
    found = dict(zip(fitted.arms, fitted.counts, strict=True))
    for arm, count in able:
        assert abs(found.pop(arm, 0) - count * wanted / together) < 1
    if able:
        assert found == {}
        assert [arm for arm, _ in able if arm in fitted.arms] == list(fitted.arms)
    else:
        # Nothing of the plan can be done: the arm with the fewest pulls that can.
        (arm,) = fitted.arms
        assert known[arm] == min(count for k, count in enumerate(known) if k not in cannot)


@given(plans, pulls)
def test_a_site_without_wishes_gets_the_plan_itself(plan: Plan, known: list[int]) -> None:
    assert plan.fitted(None, set(), known) is plan
    assert plan.fitted(None, set(range(ARMS)) - set(plan.arms), known) is plan


@given(plans, plates, arms_it_can_not_do, pulls)
def test_fitting_twice_is_fitting_once(
    plan: Plan, plate: int | None, cannot: set[int], known: list[int]
) -> None:
    fitted = plan.fitted(plate, cannot, known)
    assert fitted.fitted(plate, cannot, known) == fitted


@given(plans, st.integers(1, 400), pulls)
def test_the_largest_remainders_are_rounded_up(plan: Plan, plate: int, known: list[int]) -> None:
    fitted = plan.fitted(plate, set(), known)
    size, together = fitted.size, plan.size
    found = dict(zip(fitted.arms, fitted.counts, strict=True))
    up = [
        c * size % together
        for a, c in zip(plan.arms, plan.counts, strict=True)
        if found.get(a, 0) > c * size // together
    ]
    down = [
        c * size % together
        for a, c in zip(plan.arms, plan.counts, strict=True)
        if found.get(a, 0) == c * size // together
    ]
    assert min(up, default=together) >= max(down, default=0)


def test_a_site_that_can_do_nothing_gets_nothing() -> None:
    assert Plan((0,), (3,)).fitted(4, {0, 1}, [1, 1]) == Plan((), ())
