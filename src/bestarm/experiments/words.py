"""The sentences of the report. Numbers in them come from `summary.csv` and `about.csv`."""

from __future__ import annotations

from collections.abc import Mapping

from bestarm.experiments.numbers import Line, Numbers

About = Mapping[str, str]

TERMS = (
    "gap: how far the second best arm's mean reward is below the best one's. M agents, K arms, features "
    "with d dimensions; rewards have noise σ; the arm returned is within ε of the best with probability at "
    "least 1 − δ.",
    "samples: every pull of every agent until the server stops, the K first ones and those not yet sent "
    "included.",
    "communications: one upload or one download is one communication. The last upload has no download; the "
    "K first pulls cost none.",
    "famabpe and falinpe: the paper's methods for separate arms and for arms with features. γ (famabpe) "
    "and γ₁, γ₂ (falinpe) say by what share the data must have grown before an agent sends; «theorem» "
    "marks the values of the paper's theorems. falinpe picks arms by the ratio rule (a linear programme) "
    "or greedily.",
    "ugapec and lingape: one agent alone that learns from every reward at once and sends nothing.",
    "sync-ugapec and sync-lingape: all agents make a period of pulls, then all upload and all download.",
    "sharp: this project's method with the same guarantee; thrift says what to spare: samples, messages, "
    "or both (balanced, the default).",
    "lower bound: no method with this δ and ε needs fewer samples on average, whatever it communicates.",
)

FILES = (
    "runs.csv: one row a run, with all parameters, the seed, the instance's seed, and what came out.",
    "summary.csv: one row a method, setting and gap, computed from runs.csv: means, standard errors, 95 % "
    "intervals of the means (Student's t), and how often the best arm was returned.",
    "claims.csv: the table of statements. about.csv: versions, seeds, and counts of the data set.",
    "figures: every figure as PNG and SVG.",
    "cells.jsonl: finished work; with it an interrupted command goes on where it stopped.",
)


def command(about: About) -> str:
    """The command that makes this report."""
    what = about["experiments"] if " " not in about["experiments"] else "all"
    words = [f"bestarm reproduce {what} --out DIR --runs {about['runs']} --seed {about['seed']}"]
    if about["instance"] != "random":
        words.append(f"--instance {about['instance']}")
    if "data name" in about:
        words.append(f"--data {about['data name']} --min-ratings {about['data min ratings']}")
    return " ".join(words)


def setting(numbers: Numbers, experiment: str, about: About) -> list[str]:
    """What the problem of an experiment is."""
    line = numbers.of(experiment, "sharp")[0]
    numbers_used = (
        f"M = {line.agents}, σ = {line.sigma:g}, δ = {line.delta:g}, ε = {line.epsilon:g}, {line.runs:,} runs"
    )
    if experiment == "mab":
        return [
            f"K = {line.arms} arms: one with mean 0.9, all others worse by the gap; {numbers_used}. In each "
            "round one agent, drawn at random, pulls an arm."
        ]
    if experiment == "linear":
        return [f"K = {line.arms} arms in d = {line.dimension} dimensions; {numbers_used}. {_instance(line)}"]
    return [
        f"{about['data name']} has {_int(about, 'ratings')} ratings and {_int(about, 'tags')} tags of "
        f"{_int(about, 'films')} films by {_int(about, 'users')} users; {_int(about, 'kept users')} users "
        f"have over {_int(about, 'min ratings')} ratings, {_int(about, 'interactions')} in all. "
        f"{_int(about, 'films with features of their own')} films have features of their own; their rewards "
        f"x'θ go from {about['data smallest reward']} to {about['data largest reward']}, and θ has length "
        f"{about['data length of theta']}.",
        f"An arm set has K = {line.arms} films in d = {line.dimension} dimensions: a best one, drawn at "
        "random, and others whose reward is lower by the gap, give or take 0.01; a new set in each run, "
        f"the same for every method; {numbers_used}.",
    ]


def gap_caption(experiment: str) -> str:
    """Below the figure against the gap."""
    hollow = (
        ""
        if experiment == "mab"
        else " Hollow marks: falinpe with greedy selection; famabpe without the features."
    )
    return (
        "Samples (left) and communications (right) against the gap, both on logarithmic scales; bars are "
        f"95 % intervals of the mean. Lower is better.{hollow}"
    )


def tradeoff_caption(numbers: Numbers, experiment: str) -> str:
    """Below the figure of samples against communications."""
    gap = numbers.gaps(experiment)[0]
    return (
        f"Samples against communications at the gap {gap:g}; towards the lower left is better. A curve "
        "joins the settings of a method of which no other has fewer of both; small hollow marks are "
        "settings that another one beats. To choose parameters, find the number of messages that can be "
        "afforded and read off the lowest curve."
    )


def remarks(numbers: Numbers, experiment: str, about: About) -> list[str]:
    """What has to be said about an experiment besides the claims."""
    if experiment == "mab":
        pairs = zip(numbers.of(experiment, "famabpe"), numbers.of(experiment, "ugapec"), strict=True)
        if not all(famabpe.samples < ugapec.samples for famabpe, ugapec in pairs):
            return []
        return [
            "Why ugapec is not below famabpe: its radius has log(4Kt³/δ), famabpe's log(4K((1+γM)N)²/δ); "
            "with the same σ in both, the cube costs more than learning from every reward at once gains."
        ]
    first, last = (int(value) for value in about[f"{experiment} ranks"].split())
    names = ("famabpe", "sharp", "falinpe selection=greedy")
    famabpe, sharp, falinpe = (numbers.of(experiment, name) for name in names)
    arms, dimension = sharp[0].arms, sharp[0].dimension
    against = (
        f"falinpe takes {_over(falinpe, famabpe)} times the samples of famabpe, which ignores the features; "
        f"sharp takes {_over(sharp, famabpe)} times those of famabpe."
    )
    if first == arms:
        return [
            f"K = {arms} ≤ d = {dimension}, and the features are linearly independent in every instance "
            f"(rank {first}). Then the linear model says nothing about the arms that K separate arms would "
            "not: any K means are possible, and the lower bounds of the two problems are equal. falinpe "
            f"pays for {dimension} dimensions without using them: {against}"
        ]
    return [
        f"K = {arms} > d = {dimension} (rank {first if first == last else f'{first} to {last}'}): here the "
        "features do tell something, since every pull informs about all arms. "
        f"{against[0].upper()}{against[1:]}",
        "falinpe picks arms greedily here. The ratio rule solves a linear programme for every pair of "
        "leader and challenger that a run meets, hundreds of them, and starts the run again for each; it "
        "was run at the largest gap only.",
    ]


def choices(numbers: Numbers, about: About) -> list[str]:
    """What the paper leaves open or has differently."""
    found = numbers.experiments()
    general = [
        "All methods have the same σ, the baselines included; the paper does not say which scale UGapEc "
        "and LinGapE were given.",
        "A run of any method is fixed by its seed and number. Simulation goes from upload to upload and "
        "has exactly the distribution of the round-by-round one.",
        "An episode of the synchronous baselines has 100 pulls of each agent, which is what the paper's "
        "cost τ/50 says; 100 pulls of all agents together is shown beside it for separate arms.",
    ]
    linear = [
        "falinpe's λ is the largest that Theorem 2 allows; lingape has λ = 1 and greedy selection.",
        "The greedy rule takes the argmin; the paper prints argmax, with which a run does not stop. The "
        "linear programme has one weight an arm, and arms with weight 0 are left out of the ratio.",
    ]
    synthetic = [
        "Linear instances: the paper does not say whether the runs share one. "
        + (
            "Here each run has its own."
            if about["instance"] == "random"
            else "Here all runs share the orthogonal one."
        ),
    ]
    films = [
        "MovieLens: the text of a film is its tags and genres; TF-IDF without English stop words, "
        "truncated SVD to 25 dimensions, columns scaled to mean 0 and variance 1, rows to length 1, films "
        "with equal features once. θ by ridge regression (α = 1, the intercept fitted and dropped) on what "
        "the kept users rated (1) and as many films that they did not (0). The paper has PCA and does not "
        "say how features and θ come to have length at most 1.",
        "Films are arms with a mean reward x'θ and Gaussian noise σ; the ratings themselves are not replayed.",
    ]
    return [
        *general,
        *(linear if len(found) > found.count("mab") else []),
        *(synthetic if "linear" in found else []),
        *(films if "movielens-10" in found else []),
    ]


def _instance(line: Line) -> str:
    if line.instance == "orthogonal":
        return (
            "The orthogonal instance: x₁ = (1+a)e₁, the others unit vectors, θ = a e₁, a(1+a) = gap. The "
            "first feature is longer than the 1 that the linear methods' guarantee assumes."
        )
    return (
        "θ is uniform on the unit sphere, and so is each arm's direction, given its reward: 0.9 for the "
        "best, 0.9 − gap for the second, uniform in 0.9 − [1, 3] · gap for the others. A new instance in "
        "each run, the same for every method; the lower bound is the mean over them."
    )


def _over(above: list[Line], below: list[Line]) -> str:
    ratios = [a.samples / b.samples for a, b in zip(above, below, strict=True)]
    return f"{min(ratios):.2g} to {max(ratios):.2g}"


def _int(about: About, name: str) -> str:
    return f"{int(about[f'data {name}']):,}"
