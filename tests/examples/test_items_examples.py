"""The examples with items: reactions on the same substrates, prompts on documents, settings on instances."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from example import run_example


@pytest.mark.slow
def test_reactions_with_and_without_items(tmp_path: Path) -> None:
    chance = random.Random(2)
    lines = ["base_name,fluoride_name,substrate_name,yield"]
    for place in range(30):
        substrate = chance.gauss(0, 15)
        lines += [
            f"{base},PBSF,s{place},{mean + substrate + chance.gauss(0, 3):.1f}"
            for base, mean in (("DBU", 40), ("BTPP", 60), ("MTBD", 52))
        ]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    printed = run_example("reactions/items.py", "table.csv", "--runs", "20", folder=tmp_path)
    saved = re.search(r"Items save: ([\d.]+) times fewer reactions\.", printed)
    assert saved is not None, printed
    assert float(saved[1]) > 2
    assert printed.count("0 of 20 wrong") == 2
    assert (tmp_path / "items.png").read_bytes().startswith(b"\x89PNG")


def test_prompts_on_the_same_documents() -> None:
    printed = run_example("prompts/items.py")
    found = re.findall(r"(with-items|without): '(.*)' is best, after ([\d,]+) graded answers", printed)
    assert [(name, arm) for name, arm, _ in found] == [
        ("with-items", "List the facts, then summarise."),
        ("without", "List the facts, then summarise."),
    ]
    on, off = (int(samples.replace(",", "")) for _, _, samples in found)
    assert on < off


def test_settings_of_a_solver() -> None:
    printed = run_example("configuration/run.py")
    assert re.search(r"'reverse, greedy' is best, after \d+ solved instances", printed), printed
