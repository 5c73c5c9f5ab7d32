"""The records of rules: a rule's functions, its parameters, and every fact about it that others need.

A method is put together from a test (when to stop), a selection (which arm) and a trigger (how many pulls until
the next upload). Each rule has its record beside its code, and nobody keeps a list of names elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from bestarm.core.arrays import Counts, Floats, Random
from bestarm.core.batch import Batch
from bestarm.core.breaking import Reading
from bestarm.core.setting import Setting
from bestarm.core.state import View

Begin = Callable[[Setting], Any]
Fold = Callable[[Any, Batch, Setting], Any]
Read = Callable[[Any, Setting], Reading]
Foresee = Callable[[View, int, float, Setting], View]
Absorb = Callable[[Any, int, float, Setting], Any]
Choose = Callable[[Counts, View, Reading, Setting], int]
Fire = Callable[[View, Reading, int, Setting], int]
Make = Callable[[Any, Reading, Setting, Foresee, Choose, Fire, Counts, Counts], int]
Turn = Callable[[Any, Reading, Setting, Random, Counts, Counts], int]
Uploads = Callable[[Any], int]
Radii = Callable[[Any, Setting], Floats]

MOST_AT_ONCE = 10**9  # pulls in a batch or an episode that somebody may ask for
MOST_GAMMA = 1000

Value = int | float | str


@dataclass(frozen=True)
class Parameter:
    """A number or a word that a rule takes: what it means, what it may be, and what it is if nobody says.

    `kind` is `positive` (a number above 0), `whole` (1, 2, …), `fraction` (a positive number that is kept as a
    fraction of whole numbers) or `word` (one of `words`). A `default` of None means that each method has its
    own. With a word that is `unproven` nothing bounds how often an answer is wrong.
    """

    name: str
    help: str
    kind: str = "positive"
    default: Value | None = None
    words: tuple[str, ...] = ()
    unproven: tuple[str, ...] = ()

    def check(self, value: object) -> Value:
        """The value if it may be one; a `ValueError` that says what it must be.

        >>> Parameter("period", "pulls in an episode", "whole").check(0)
        Traceback (most recent call last):
        ValueError: period is 0; it must be a whole number of at least 1.
        """
        if self.kind == "word":
            if not isinstance(value, str) or value not in self.words:
                raise ValueError(f"{self.name} is {value!r}; it must be one of {', '.join(self.words)}.")
            return value
        if self.kind == "whole":
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{self.name} is {value!r}; it must be a whole number of at least 1.")
            if value > MOST_AT_ONCE:
                raise ValueError(f"{self.name} is {value!r}; it must be at most {MOST_AT_ONCE}.")
            return value
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise ValueError(f"{self.name} is {value!r}; it must be a number above 0.")
        if self.kind == "fraction" and not Fraction(1, 10**12) <= as_fraction(value) <= MOST_GAMMA:
            raise ValueError(f"{self.name} is {value!r}; it must lie between 1e-12 and {MOST_GAMMA}.")
        return value

    def number(self, value: Value) -> float:
        """A checked value as compiled code takes it: a word is its place among the words.

        >>> Parameter("thrift", "what to spare", "word", words=("samples", "messages")).number("messages")
        1.0
        """
        return float(self.words.index(str(value)) if self.kind == "word" else value)


def as_fraction(value: float) -> Fraction:
    """A number as a fraction of small whole numbers, so that the count trigger is exact: 0.1 is 1/10."""
    return Fraction(value).limit_denominator(max(10**6, math.ceil(10 / value)))


class Model(NamedTuple):
    """How the arms' means are estimated: `begin` with nothing, `fold` in a batch.

    `foresee` is the view after pulls that are only planned, `absorb` the state after a single pull, and
    `coordinates` what the model makes of the features. A `linear` model has use for features.
    """

    begin: Begin
    fold: Fold
    foresee: Foresee
    absorb: Absorb
    coordinates: Callable[[Floats], Floats]
    linear: bool


@dataclass(frozen=True)
class Test:
    """A stopping test: its model begins and folds a state, `read(state, setting)` says what that comes to.

    `radii(state, setting)` gives the half width of every arm's own interval; all of them hold together, at
    every time, with probability at least 1 − δ. A test that has none says None, and nobody shows intervals. The
    flags say what its promise rests on.
    """

    __test__ = False  # pytest takes a class of this name for one of its own

    name: str
    help: str
    model: Model
    read: Read
    radii: Radii | None = None
    parameters: tuple[Parameter, ...] = ()
    # "known": it needs sigma; "either": it measures it where it is not given; "own": it measures that of each
    # arm's differences; "none": it has no use for it.
    noise: str = "known"
    sites_alike: bool = True  # an arm's mean must be the same at every site and all the time
    counts_agents: bool = False  # the number of agents is a part of its promise
    short_features: bool = False  # its proof needs features and weights of length at most 1
    every_arm: bool = True  # it says nothing before every arm was pulled
    squares: bool = False  # it asks for sums of squares, whether sigma is known or not
    bets: bool = False  # it asks for bets on differences inside a batch, from single rewards
    pairs: bool = False  # it asks for differences of arms on the same items
    odds: Radii | None = None  # the logarithm of what speaks against each arm, where it tests each by itself
    aside: float = 0.0  # of delta: the share of an event that odds rest on, beside the bound on sigma
    goes_with: tuple[str, str] = ("lookahead", "aim")  # the selection and the trigger that suit it best
    inside_batches: bool = False  # it compares arms inside batches: one with a single arm tells it nothing
    arms_may_come: bool = False  # it pays for arms that join later
    shows_index: bool = True  # its breaking index tells a person more than its evidence
    growth: tuple[float, float] | None = (0.6, 1.6)  # evidence e of N samples: the end is near N e⁻ᵃ to N e⁻ᵇ
    waver: float = 0.3  # of the samples so far: its evidence may fall back before it gets there
    delta_in_selection: bool = False  # what a smaller δ costs is paid where arms are chosen, not here
    how: str = ""  # what it does, in words that follow its name
    proven: bool = True  # its answers are wrong with probability at most δ, and there is a proof
    yes_no: bool = False  # it is about outcomes that are 0 or 1, and nothing else
    in_range: bool = False  # it is about rewards between two known numbers, and nothing else
    only_with: tuple[str, ...] = ()  # the selections that its proof is about; with none it is about all of them
    least: Callable[[int], int] | None = None  # the smallest budget that its plan fits into, for so many arms
    by_phase: bool = False  # a batch is a phase of its own, and not as good as two halves of it
    assumes: tuple[str, ...] = ()  # what else its promise rests on, each in words that follow "it assumes that"


def nothing_sent(state: Any) -> int:
    """A single agent has nobody to send anything to."""
    return 0


@dataclass(frozen=True)
class Selection:
    """Which arm is pulled next; `make` says whether a plan has one arm or several.

    `choose_linear` takes the place of `choose` where the test's model is linear. A selection of a single agent,
    or of agents in lockstep, may go by turns instead: `turn(state, reading, setting, random, arms, counts)`
    writes the pulls until the next look, and may draw at random; then nobody asks it to `choose`.
    """

    name: str
    help: str
    choose: Choose
    make: Make
    choose_linear: Choose | None = None
    needs_features: bool = False
    needs_linear: bool = False  # a test whose model is linear
    needs_race: bool = False  # a test that compares inside batches
    on_items: bool = False  # its plans have every arm equally often, as items need it
    needs_designs: bool = False  # the linear programme of every pair of leader and challenger
    turn: Turn | None = None
    uploads: Uploads = nothing_sent  # of sites that have arms of their own: what they have sent so far
    gets_stuck: bool = False  # a run may go on for ever
    keeps: Model | None = None  # takes the place of the test's model: it keeps what the selection reads besides
    reads: tuple[str, ...] = ()  # the tests that can read what is kept so; with none any will do
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class Trigger:
    """How many pulls until the next upload."""

    name: str
    help: str
    fire: Fire
    needs_linear: bool = False
    parameters: tuple[Parameter, ...] = ()


class Rules(NamedTuple):
    """The functions of a method, as loops use them."""

    begin: Begin
    fold: Fold
    read: Read
    foresee: Foresee
    absorb: Absorb
    choose: Choose
    trigger: Fire
    make: Make
    turn: Turn | None = None
    uploads: Uploads = nothing_sent


def rules_of(test: Test, selection: Selection, trigger: Trigger) -> Rules:
    """The functions of a test, a selection and a trigger together."""
    model = selection.keeps or test.model
    choose = selection.choose_linear if model.linear and selection.choose_linear else selection.choose
    return Rules(
        model.begin,
        model.fold,
        test.read,
        model.foresee,
        model.absorb,
        choose,
        trigger.fire,
        selection.make,
        selection.turn,
        selection.uploads,
    )
