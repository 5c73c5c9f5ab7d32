"""Which of 20 reaction conditions gives the best yield? Three laboratories look together, in simulation.

python run.py [--runs 200] [--seed 0]
"""

import argparse
import csv
from pathlib import Path

import numpy as np

import bestarm

HERE = Path(__file__).parent
LABORATORIES, DELTA, EPSILON, SIGMA = 3, 0.05, 0.05, 0.32  # yields as fractions; 0.32 is the largest spread


def read() -> tuple[list[str], np.ndarray, np.ndarray]:
    """The conditions, their mean yields, and one column of 0 and 1 for each base and each sulfonyl fluoride."""
    with (HERE / "yields.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = [("base", name) for name in sorted({row["base"] for row in rows})]
    columns += [("sulfonyl_fluoride", name) for name in sorted({row["sulfonyl_fluoride"] for row in rows})]
    features = np.array([[float(row[key] == name) for key, name in columns] for row in rows])
    return [row["condition"] for row in rows], np.array([float(row["mean"]) / 100 for row in rows]), features


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    wanted = parser.parse_args()
    names, means, features = read()

    # How far are the mean yields from "a part of the base plus a part of the fluoride"?
    weights = np.linalg.lstsq(features, means, rcond=None)[0]
    fitted = features @ weights
    residual = means - fitted
    best, by_fit = int(np.argmax(means)), int(np.argmax(fitted))
    print(f"{len(names)} conditions, {features.shape[1]} features of rank {np.linalg.matrix_rank(features)}.")
    print(
        f"Additive fit: residuals {100 * np.sqrt(np.mean(residual**2)):.1f} points (root mean square), "
        f"at most {100 * np.abs(residual).max():.1f} points, at {names[int(np.abs(residual).argmax())]}."
    )
    print(f"Best by mean yield: {names[best]} ({100 * means[best]:.1f} %); by the fit: {names[by_fit]}.")
    if best != by_fit:
        print("They differ: take separate arms, or an epsilon that covers the difference.")
    good = [names[k] for k in np.argsort(-means) if means[k] >= means[best] - EPSILON]
    print(f"Within {100 * EPSILON:.0f} points of the best: {', '.join(good)}.")

    # The truth of the simulation is the table, not the fit: the linear model is a little wrong, as in life.
    given = {"sigma": SIGMA, "delta": DELTA, "epsilon": EPSILON, "means": means}
    problems = {
        "with features": bestarm.Problem(names, features=features, name="with features", **given),
        "separate arms": bestarm.Problem(names, name="separate arms", **given),
    }
    print(f"\n{LABORATORIES} laboratories, {wanted.runs} runs:")
    for name, problem in problems.items():
        result = bestarm.simulate(problem, "sharp", LABORATORIES, wanted.runs, wanted.seed)
        samples, sent = result.summary(), result.summary("communications")
        answers = {arm: count for arm, count in result.arms.items() if count}
        print(
            f"{name}: {samples.mean:,.0f} ± {samples.stderr:,.0f} reactions, {sent.mean:.0f} communications, "
            f"{result.wrong} of {result.runs} answers more than {100 * EPSILON:.0f} points below the best."
        )
        print("  answers: " + ", ".join(f"{arm} {count}" for arm, count in answers.items()))


if __name__ == "__main__":
    main()
