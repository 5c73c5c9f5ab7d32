"""Methods of one's own beside sharp: python run.py [--runs 100] [--seed 0] [--engine rounds|events]"""

import argparse

import racing

import bestarm


def main():
    parser = argparse.ArgumentParser(description=racing.__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", default="rounds")
    parser.add_argument("--methods", default="sharp,racing,evenly,apart")
    wanted = parser.parse_args()
    problem = bestarm.Problem.quick([0.9, 0.7, 0.6, 0.5, 0.4], sigma=0.3, delta=0.05)
    for name in wanted.methods.split(","):
        result = bestarm.simulate(
            problem, name, agents=5, runs=wanted.runs, seed=wanted.seed, engine=wanted.engine
        )
        samples, sent = result.summary(), result.summary("communications")
        print(
            f"{name:8} samples {samples.mean:5.0f} ± {samples.stderr:.0f} (most {samples.most:,.0f}), "
            f"communications {sent.mean:3.0f} ± {sent.stderr:.0f}, wrong {result.wrong} of {result.runs}"
        )


if __name__ == "__main__":
    main()
