"""The claims of the paper's experiment section, each judged by the measured numbers.

A claim is a function of the numbers in `summary.csv` (and of `about.csv` for the data set); nothing here knows
a result. Where the paper says «slightly» or «almost», the constants below say how that is read.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bestarm.experiments import phrases
from bestarm.experiments.numbers import Line, Numbers
from bestarm.sweeps.table_file import write_table

CLAIMS = "claims.csv"
YES, PARTLY, NO, UNTESTED = "yes", "partly", "no", "not tested"
SLIGHTLY = 1.5  # «slightly larger»: more, but at most half as much again
ALMOST = 1.1  # «almost identical»: within a tenth
MODERATELY = 2.0  # «only moderately affects»: at most twice
PAPER_COST = (100.0, 120.0)
PAPER_DATA = {"kept users": 54, "films": 26567, "interactions": 214729}
PAPER_MIN_RATINGS = 3000


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, under which parameters, what was measured in how many runs, and whether it holds."""

    name: str
    says: str
    parameters: str
    measured: str
    runs: int
    verdict: str
    instead: str


About = Mapping[str, str]


def judge(numbers: Numbers, about: About) -> list[Claim]:
    """All claims about the experiments that there are numbers of."""
    found = numbers.experiments()
    claims: list[Claim] = []
    if "mab" in found:
        claims += _mab(numbers)
    if "linear" in found:
        claims += _linear(numbers, "linear")
    if "movielens-10" in found:
        claims += [_data(about), *_linear(numbers, "movielens-10")]
    if "mab" in found and "linear" in found:
        claims.append(_moderate(numbers))
    return claims


def write_claims(folder: Path, claims: Iterable[Claim]) -> None:
    """Write `claims.csv`."""
    write_table(folder / CLAIMS, [field.name for field in fields(Claim)], map(asdict, claims))


def read_claims(folder: Path) -> list[Claim]:
    """The rows of `claims.csv`."""
    with (folder / CLAIMS).open(newline="", encoding="utf-8") as file:
        rows: list[dict[str, Any]] = [row | {"runs": int(row["runs"])} for row in csv.DictReader(file)]
    return [Claim(**row) for row in rows]


def verdict(holds: Sequence[bool]) -> str:
    """Whether something holds at all gaps, at some, or at none.

    >>> verdict([True, True]), verdict([True, False]), verdict([False, False])
    ('yes', 'partly', 'no')
    """
    return YES if all(holds) else PARTLY if any(holds) else NO


# --- separate arms -------------------------------------------------------------------------------------------


def _mab(numbers: Numbers) -> list[Claim]:
    three = [numbers.of("mab", name) for name in ("famabpe", "ugapec", "sync-ugapec")]
    famabpe, ugapec, sync = three
    gammas = _famabpe_by_gamma(numbers)
    base, runs = phrases.base(famabpe[0]) + f"; γ = 1/(2MK) = {_own_gamma(famabpe[0]):.4g}", famabpe[0].runs
    return [
        _all_best("mab-1", three, base),
        Claim(
            "mab-2",
            "A single agent with UGapEc needs the fewest samples.",
            base,
            phrases.rows("samples", [ugapec, famabpe, sync])
            + phrases.too_close([(ugapec, famabpe), (ugapec, sync)], "samples"),
            runs,
            verdict([u.samples < min(f.samples, s.samples) for f, u, s in zip(*three, strict=True)]),
            _gammas_where(
                gammas,
                lambda line, place: line.samples > ugapec[place].samples,
                "famabpe needs more than ugapec",
            ),
        ),
        _sync_samples(numbers, ugapec, sync, base),
        Claim(
            "mab-4",
            "FAMABPE needs slightly more samples than the baselines "
            f"(read as: more, but at most {SLIGHTLY} times as many as UGapEc).",
            base,
            phrases.ratios("famabpe / ugapec, samples", famabpe, ugapec, "samples")
            + phrases.too_close([(famabpe, ugapec)], "samples"),
            runs,
            verdict([1 < f.samples / u.samples <= SLIGHTLY for f, u in zip(famabpe, ugapec, strict=True)]),
            _gammas_where(
                gammas,
                lambda line, place: 1 < line.samples / ugapec[place].samples <= SLIGHTLY,
                "famabpe needs slightly more than ugapec",
                some_gaps=True,
            ),
        ),
        Claim(
            "mab-5",
            "FAMABPE has the lowest communication cost.",
            base,
            phrases.rows("communications", [famabpe, sync]) + " (a single agent sends nothing and is left out)",
            runs,
            verdict([f.communications < s.communications for f, s in zip(famabpe, sync, strict=True)]),
            _gammas_where(
                gammas,
                lambda line, place: line.communications < sync[place].communications,
                "famabpe sends less than sync-ugapec",
                some_gaps=True,
            )
            + f" By the paper's own τ/50 (mab-7) the synchronous baseline sends fewer than {PAPER_COST[0]:g} "
            f"messages wherever it needs fewer than {50 * PAPER_COST[0]:,.0f} samples.",
        ),
        _cost_range(famabpe, gammas, base),
        Claim(
            "mab-7",
            "The synchronous baseline communicates τ/50 times for τ samples.",
            base.partition(";")[0] + "; 100 pulls of each agent in an episode",
            "communications · 50 = samples − K at every gap"
            if all(_fifty(line) for line in sync)
            else phrases.rows("communications", [sync]) + "; " + phrases.rows("samples", [sync]),
            runs,
            verdict([_fifty(line) for line in sync]),
            "The K first pulls cost no communication, hence samples − K.",
        ),
        Claim(
            "mab-8",
            "Asynchronous methods usually communicate more than synchronous ones with the same guarantee.",
            base,
            phrases.ratios("famabpe / sync-ugapec, communications", famabpe, sync, "communications"),
            runs,
            verdict([f.communications > s.communications for f, s in zip(famabpe, sync, strict=True)]),
            "The paper says both this and mab-5.",
        ),
        _only("mab-9", "FAMABPE", numbers, "mab", "famabpe", base),
    ]


def _sync_samples(numbers: Numbers, ugapec: list[Line], sync: list[Line], base: str) -> Claim:
    together = numbers.of("mab", "sync-ugapec period_counts=all")

    def as_said(lines: list[Line]) -> list[bool]:
        ratio = [line.samples / u.samples for line, u in zip(lines, ugapec, strict=True)]
        return [1 < ratio[0] <= SLIGHTLY, *(1 / ALMOST <= value <= ALMOST for value in ratio[1:])]

    return Claim(
        "mab-3",
        f"Synchronous UGapEc needs slightly more samples than UGapEc at the gap {ugapec[0].gap:g} (up to "
        f"{SLIGHTLY} times) and almost as many at the others (within {ALMOST - 1:.0%}).",
        base.partition(";")[0] + "; 100 pulls of each agent in an episode",
        phrases.ratios("sync-ugapec / ugapec, samples", sync, ugapec, "samples")
        + f"; one episode is {sync[0].agents * 100:,} samples",
        sync[0].runs,
        verdict(as_said(sync)),
        _halves(as_said(sync), ugapec[0].gap)
        + "With 100 pulls of all agents together in an episode (period_counts=all): "
        f"{verdict(as_said(together))}, "
        + phrases.ratios("samples", together, ugapec, "samples")
        + "; "
        + phrases.ratios("communications over those with 100 pulls an agent", together, sync, "communications")
        + ".",
    )


def _cost_range(famabpe: list[Line], gammas: Mapping[float, list[Line]], base: str) -> Claim:
    low, high = PAPER_COST

    def off(lines: list[Line]) -> float:
        return max(max(low / line.communications, line.communications / high, 1.0) for line in lines)

    nearest = sorted(sorted(gammas, key=lambda gamma: off(gammas[gamma]))[:3])
    notes = [
        f"γ = {gamma:g}: {phrases.span(line.communications for line in gammas[gamma])} communications with "
        f"{phrases.times(line.samples / own.samples for line, own in zip(gammas[gamma], famabpe, strict=True))}"
        " the samples"
        for gamma in nearest
    ]
    return Claim(
        "mab-6",
        f"FAMABPE's communication cost goes only from {low:g} to {high:g} as the gap goes from "
        f"{famabpe[-1].gap:g} to {famabpe[0].gap:g}.",
        base,
        phrases.rows("communications", [famabpe]),
        famabpe[0].runs,
        verdict([low <= line.communications <= high for line in famabpe]),
        "Nearest of the γ tried: " + "; ".join(notes) + ".",
    )


def _famabpe_by_gamma(numbers: Numbers) -> dict[float, list[Line]]:
    first = numbers.of("mab", "famabpe")[0]
    found = {_own_gamma(first): numbers.of("mab", "famabpe")}
    for line in numbers.variants("mab", "famabpe", first.gap):
        _, separator, value = line.variant.partition(" gamma=")
        if separator:
            found[float(value)] = numbers.of("mab", line.variant)
    return dict(sorted(found.items()))


def _gammas_where(
    gammas: Mapping[float, list[Line]],
    holds: Callable[[Line, int], bool],
    what: str,
    some_gaps: bool = False,
) -> str:
    """With which of the γ tried something holds: at all gaps, or gap by gap."""
    where = {gamma: [holds(line, place) for place, line in enumerate(lines)] for gamma, lines in gammas.items()}
    tried = ", ".join(f"{gamma:g}" for gamma in gammas)
    if some_gaps:
        parts = []
        for place, line in enumerate(next(iter(gammas.values()))):
            good = [gamma for gamma, at in where.items() if at[place]]
            parts.append(
                f"gap {line.gap:g}: " + (f"γ = {', '.join(f'{g:g}' for g in good)}" if good else "none")
            )
        return f"γ with which {what} (tried: {tried}): " + "; ".join(parts) + "."
    good = [gamma for gamma, at in where.items() if all(at)]
    if not good:
        return f"There is no γ among those tried ({tried}) with which at every gap {what}."
    return f"At every gap {what} with γ = {', '.join(f'{gamma:g}' for gamma in good)} (tried: {tried})."


# --- arms with features --------------------------------------------------------------------------------------


def _linear(numbers: Numbers, experiment: str) -> list[Claim]:
    name = experiment.partition("-")[0]
    methods = ("falinpe", "falinpe selection=greedy", "lingape", "sync-lingape")
    falinpe, greedy, lingape, sync = (numbers.of(experiment, method) for method in methods)
    runs, first = falinpe[0].runs, falinpe[0]
    base = (
        phrases.base(first) + f"; γ₁ = 1/M² = {1 / first.agents**2:g}, γ₂ = 1/(2MK) = {_own_gamma(first):.4g}"
    )
    both = list(zip(falinpe, lingape, sync, strict=True))
    shared = [
        _all_best(f"{name}-1", [falinpe, greedy, lingape, sync], base),
        Claim(
            f"{name}-2",
            "LinGapE and synchronous LinGapE need the fewest samples.",
            base,
            phrases.rows("samples", [lingape, sync, falinpe, greedy]),
            runs,
            verdict([max(alone.samples, s.samples) < f.samples for f, alone, s in both]),
            "Among the paper's methods. " + phrases.sharp_beside(numbers, experiment, lingape, "lingape"),
        ),
        Claim(
            f"{name}-3",
            "FALinPE needs relatively many samples"
            + (f", above all at the gap {first.gap:g}." if name == "linear" else "."),
            base,
            phrases.ratios("falinpe / lingape, samples", falinpe, lingape, "samples"),
            runs,
            verdict([f.samples > alone.samples for f, alone, _ in both] + _worst_first(falinpe, lingape, name)),
            f"famabpe, which ignores the features, needs {phrases.times_less(numbers, experiment, falinpe)} "
            f"samples (K = {first.arms}, d = {first.dimension}).",
        ),
        _linear_cost(numbers, experiment, f"{name}-4", falinpe, sync, base),
    ]
    if name == "linear":
        shared.append(
            Claim(
                f"{name}-5",
                f"Greedy arm selection performs well (read as: within {ALMOST - 1:.0%} of the ratio rule's "
                "samples).",
                base,
                phrases.ratios("greedy / ratio, samples", greedy, falinpe, "samples"),
                runs,
                verdict([g.samples / f.samples <= ALMOST for g, f in zip(greedy, falinpe, strict=True)]),
                "With argmin in the greedy rule; the paper prints argmax, with which it does not stop.",
            )
        )
    return [*shared, _only(f"{name}-{len(shared) + 1}", "FALinPE", numbers, experiment, "falinpe", base)]


def _worst_first(falinpe: list[Line], lingape: list[Line], name: str) -> list[bool]:
    """Whether the excess in samples is largest at the smallest gap, where that is claimed."""
    excess = [f.samples - alone.samples for f, alone in zip(falinpe, lingape, strict=True)]
    return [excess[0] == max(excess)] if name == "linear" else []


def _linear_cost(
    numbers: Numbers, experiment: str, name: str, falinpe: list[Line], sync: list[Line], base: str
) -> Claim:
    first = falinpe[0]
    pairs = list(zip(falinpe, sync, strict=True))
    if experiment == "linear":
        says = (
            f"Synchronous LinGapE communicates more than FALinPE at the gap {first.gap:g}, and less at all "
            "larger gaps."
        )
        holds = [s.communications > f.communications for f, s in pairs[:1]]
        holds += [s.communications < f.communications for f, s in pairs[1:]]
    else:
        says = "FALinPE communicates less than synchronous LinGapE at gaps of at most 0.15."
        pairs = [(f, s) for f, s in pairs if f.gap <= 0.15]
        holds = [f.communications < s.communications for f, s in pairs]
    thrifty = min(numbers.variants(experiment, "falinpe", first.gap), key=lambda line: line.communications)
    tried = len(numbers.variants(experiment, "falinpe", first.gap))
    fewer = "less" if thrifty.communications < sync[0].communications else "still not less"
    return Claim(
        name,
        says,
        base,
        phrases.rows("communications", [[f for f, _ in pairs], [s for _, s in pairs]]),
        first.runs,
        verdict(holds) if pairs else UNTESTED,
        (_halves(holds, first.gap) if experiment == "linear" else "")
        + f"Of {tried} settings of falinpe tried at the gap {first.gap:g}, the one with the fewest "
        f"communications ({phrases.settings(thrifty)}) has {thrifty.communications:,.0f}, {fewer} than "
        f"sync-lingape's {sync[0].communications:,.0f}, with {thrifty.samples / first.samples:.1f} times "
        "the samples of the theorem's setting.",
    )


def _data(about: About) -> Claim:
    kept, interactions = int(about["data kept users"]), int(about["data interactions"])
    films = [int(about[f"data {name}"]) for name in ("films", "rated films", "films rated by kept users")]
    asked = int(about["data min ratings"])
    same = [
        kept == PAPER_DATA["kept users"],
        interactions == PAPER_DATA["interactions"],
        PAPER_DATA["films"] in films,
    ]
    return Claim(
        "movielens-0",
        f"MovieLens 20M, users with over {PAPER_MIN_RATINGS:,} ratings: {PAPER_DATA['kept users']} users, "
        f"{PAPER_DATA['films']:,} films, {PAPER_DATA['interactions']:,} interactions.",
        f"{about['data name']}, users with over {asked:,} ratings",
        f"{kept:,} users, {interactions:,} interactions; {films[0]:,} films, {films[1]:,} with a rating, "
        f"{films[2]:,} rated by these users",
        0,
        verdict(same) if asked == PAPER_MIN_RATINGS and "20m" in about["data name"].lower() else UNTESTED,
        "The paper does not say which films it counts; any of the three counts would do.",
    )


# --- across experiments --------------------------------------------------------------------------------------


def _moderate(numbers: Numbers) -> Claim:
    mab = [numbers.of("mab", name) for name in ("famabpe", "sync-ugapec")]
    linear = [numbers.of("linear", name) for name in ("falinpe", "sync-lingape")]
    holds = [f.samples / s.samples <= MODERATELY for pair in (mab, linear) for f, s in zip(*pair, strict=True)]
    return Claim(
        "all-1",
        "Event-triggered communication only moderately affects the samples, compared with the synchronous "
        f"baselines (read as: at most {MODERATELY:g} times as many).",
        "as in mab and linear",
        phrases.ratios("famabpe / sync-ugapec", mab[0], mab[1], "samples")
        + "; "
        + phrases.ratios("falinpe / sync-lingape", linear[0], linear[1], "samples"),
        min(mab[0][0].runs, linear[0][0].runs),
        verdict(holds),
        f"Separate arms: {verdict(holds[: len(mab[0])])}; arms with features: {verdict(holds[len(mab[0]) :])}.",
    )


def _all_best(name: str, methods: Sequence[list[Line]], base: str) -> Claim:
    lines = [line for method in methods for line in method]
    best, runs = sum(line.best for line in lines), sum(line.runs for line in lines)
    wrong, open_ = sum(line.wrong for line in lines), sum(line.unfinished for line in lines)
    return Claim(
        name,
        "Every method returns the best arm in every run.",
        base,
        f"best arm in {best:,} of {runs:,} runs of {', '.join(method[0].variant for method in methods)}"
        + (f"; {wrong} worse than epsilon allows" if best < runs else "")
        + (f"; {open_} undecided" if open_ else ""),
        lines[0].runs,
        YES if best == runs else PARTLY if best >= (1 - lines[0].delta) * runs else NO,
        "",
    )


def _only(name: str, method: str, numbers: Numbers, experiment: str, own: str, base: str) -> Claim:
    lines, sharp, bound = (numbers.of(experiment, variant) for variant in (own, "sharp", "lower-bound"))
    beaten = [
        s.samples < line.samples and s.communications < line.communications
        for line, s in zip(lines, sharp, strict=True)
    ]
    return Claim(
        name,
        f"{method} is the only method with near-optimal samples and efficient communication that needs no "
        "synchrony.",
        base,
        phrases.ratios(f"samples over the lower bound: {own}", lines, bound, "samples")
        + "; "
        + phrases.ratios("sharp", sharp, bound, "samples")
        + "; "
        + phrases.rows("communications", [lines, sharp]),
        lines[0].runs,
        verdict([not worse for worse in beaten]),
        "sharp, which is newer than the paper, needs no synchrony either and has the same guarantee; the "
        f"verdict is «yes» only at gaps where it does not need less of both ({sum(beaten)} of {len(beaten)} "
        "gaps: less of both).",
    )


def _own_gamma(line: Line) -> float:
    return 1 / (2 * line.agents * line.arms)


def _halves(holds: Sequence[bool], gap: float) -> str:
    """Which part of a statement holds that says one thing about the smallest gap and another about the rest."""
    return f"At the gap {gap:g}: {verdict(holds[:1])}; at the others: {verdict(holds[1:])}. "


def _fifty(line: Line) -> bool:
    return abs(line.communications * 50 - (line.samples - line.arms)) < 1e-6
