"""examples/new-method: a rule of one's own runs, answers right, and is better than no choice at all."""

from __future__ import annotations

import re

from example import run_example


def test_a_rule_of_ones_own_is_compared_with_sharp() -> None:
    printed = run_example("new-method/run.py", "--runs", "40")
    found = re.findall(r"(\w+) +samples +(\d+) ± \d+ .*wrong (\d+) of 40", printed)
    samples = {name: int(mean) for name, mean, _ in found}
    assert list(samples) == ["sharp", "racing", "uniform"]
    assert samples["racing"] < samples["uniform"]
    # delta is 0.05: 8 or more wrong ones among 40 have a probability below 0.001
    assert all(int(wrong) < 8 for _, _, wrong in found)
