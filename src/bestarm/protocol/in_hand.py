"""A batch at a site, from its first trial to its upload: what is left of its plan, and what was told."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from bestarm.core.bets import PAIR, WIDTH, add_against, place_of
from bestarm.core.plan import Plan
from bestarm.core.tally import Tally
from bestarm.protocol.terms import Terms


@dataclass(slots=True)
class InHand:
    """A plan that was begun. It is known by the number of its first trial.

    Which trials are open, and which arm and item each of them is, the agent knows.

    >>> terms = Terms("ligands", ("A", "B"), "18566d70caa08ade", sigma=0.3)
    >>> batch = InHand(7, Plan((1, 0), (2, 1)))
    >>> batch.take(1)
    >>> batch.add(7, 1, 0.5, terms)
    >>> batch.to_hand_out, batch.full, batch.tally(terms).to_json(terms.arms)
    (2, False, {'B': [1, 0.5]})
    """

    first: int
    plan: Plan
    items: bool = False
    size: int = field(init=False)
    handed_out: int = 0  # trials that are open or told
    told: int = 0
    dropped: set[int] = field(default_factory=set)  # arms of the plan that are not done any more
    # Item and arm → how often it is still to be handed out; items come one by one.
    left: dict[tuple[int, int], int] = field(init=False)
    rows: dict[int, list[float]] = field(default_factory=dict)  # arm → pulls, sum and, if asked for, squares
    # Arm → item, or without items trial number → reward; where sums against a rival are asked for.
    rewards: dict[int, dict[int, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.size = self.plan.size
        counts = zip(self.plan.arms, self.plan.counts, strict=True)
        self.left = {} if self.items else {(0, arm): count for arm, count in counts}

    @property
    def to_hand_out(self) -> int:
        """How many of its trials nobody has asked for yet."""
        return self.size - self.handed_out

    @property
    def full(self) -> bool:
        """Whether every trial of the plan was told."""
        return self.told == self.size

    @property
    def together(self) -> int:
        """How many trials come next that belong together: those of an item, or one."""
        if not self.items:
            return 1
        if not self.left:
            return len(self.plan.arms) - len(self.dropped)
        first, _ = next(iter(self.left))
        return sum(count for (item, _), count in self.left.items() if item == first)

    def begin_item(self, item: int) -> None:
        """One more item is tried with all arms."""
        self.left = {(item, arm): 1 for arm in self.plan.arms if arm not in self.dropped}

    def draw(self, chance: float | None) -> tuple[int, int]:
        """Arm and item of the next trial: drawn from those that are left, or the first of them."""
        first, arm = next(iter(self.left))
        if chance is None:
            return arm, first
        place = int(chance * (self.together if self.items else self.to_hand_out))
        for (item, arm), count in self.left.items():
            place -= count if item == first else 0
            if place < 0:
                return arm, item
        raise ValueError("chance must be a number from 0 to below 1")

    def take(self, arm: int, item: int = 0) -> None:
        """A trial is handed out; it must be left of the plan."""
        key = item, arm
        if key not in self.left:
            raise ValueError(f"arm {arm} is not left of the plan")
        self.left[key] -= 1
        if not self.left[key]:
            del self.left[key]
        self.handed_out += 1

    def put_back(self, arm: int, item: int) -> None:
        """A trial that was handed out is to be handed out again."""
        self.left[item, arm] = self.left.get((item, arm), 0) + 1
        self.handed_out -= 1
        if item:  # one that was begun comes before the others
            self.left = dict(sorted(self.left.items()))

    def drop(self, arm: int, opened: int) -> None:
        """An arm is not done any more, `opened` trials of it are open no more; what was told of it stays."""
        if arm in self.dropped or arm not in self.plan.arms:
            return
        told = int(self.rows[arm][0]) if arm in self.rows else 0
        self.size -= self.plan.counts[self.plan.arms.index(arm)] - told
        self.handed_out -= opened
        self.left = {key: count for key, count in self.left.items() if key[1] != arm}
        self.dropped.add(arm)

    def add(self, number: int, arm: int, reward: float, terms: Terms, item: int = 0) -> None:
        """What a trial gave."""
        row = self.rows.setdefault(arm, [0, 0.0, 0.0] if terms.squares else [0, 0.0])
        row[0] += 1
        row[1] += reward
        if terms.squares:
            off = reward - terms.centre
            row[2] += off * off  # not a power, which is rounded otherwise here and there
        if self.plan.rivals:
            self.rewards.setdefault(arm, {})[item or number] = reward
        self.told += 1

    def tally(self, terms: Terms) -> Tally:
        """What was told, with the sums against rivals that the plan asks for.

        Pairs do not depend on the order in which rewards were told, nor on the one in which trials were made
        (`place_of`); with items a pair is an item that was tried with both arms.
        """
        tally, told = Tally.from_rows(self.rows, len(terms.arms)), self.rewards
        if not self.plan.rivals:
            return tally
        width, factor = (PAIR, terms.pairs) if terms.pairs else (WIDTH, terms.bets)
        rivals = dict(zip(self.plan.arms, self.plan.rivals, strict=True))
        met = [rivals[arm] if rivals[arm] in told else -1 for arm in tally.arms]
        sums = [0.0] * (width * len(tally.arms))
        for place, (arm, rival) in enumerate(zip(tally.arms, met, strict=True)):
            if rival >= 0:
                both = told[arm].keys() & told[rival].keys() if terms.items else None
                own, theirs = (in_order(told[one], both) for one in (arm, rival))
                add_against(own, theirs, factor, width, sums, place * width)
        return tally.with_rivals(met, sums)


def in_order(told: Mapping[int, float], only: Collection[int] | None) -> list[float]:
    """Rewards by item, of some of them; or by trial, in the order in which they are dealt out to pairs."""
    return [told[number] for number in (sorted(told, key=place_of) if only is None else sorted(only))]
