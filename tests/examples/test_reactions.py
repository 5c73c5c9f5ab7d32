"""examples/reactions: both models answer within epsilon, and the table is what its script computes."""

from __future__ import annotations

import re
from pathlib import Path

from example import run_example


def test_both_models_find_a_condition_within_epsilon() -> None:
    printed = run_example("reactions/run.py", "--runs", "20")
    assert "9 features of rank 8" in printed
    assert "residuals 1.3 points (root mean square), at most 3.0 points, at DBU + PyFluor" in printed
    assert "Best by mean yield: BTPP + PBSF (57.2 %); by the fit: BTPP + PBSF." in printed
    found = re.findall(
        r"(with features|separate arms): ([\d,]+) ± \d+ reactions.* (\d+) of 20 answers", printed
    )
    assert [name for name, _, _ in found] == ["with features", "separate arms"]
    # delta is 0.05: 5 or more wrong ones among 20 have a probability below 0.003
    assert all(int(wrong) < 5 for _, _, wrong in found)


def test_the_table_is_computed_from_single_yields(tmp_path: Path) -> None:
    yields = tmp_path / "yields.csv"
    yields.write_text(
        "base_name,fluoride_name,substrate_name,yield\nDBU,PBSF,s1,40\nBTPP,PBSF,s1,50\nDBU,PBSF,s2,60\nBTPP,PBSF,s2,50\n"
    )
    lines = run_example("reactions/make_table.py", str(yields)).splitlines()
    assert lines == [
        "condition,base,sulfonyl_fluoride,mean,standard_deviation,substrates",
        "BTPP + PBSF,BTPP,PBSF,50.00,0.00,2",
        "DBU + PBSF,DBU,PBSF,50.00,14.14,2",
    ]


def test_a_study_with_labs_that_differ_is_a_picture(tmp_path: Path) -> None:
    lines = ["base_name,fluoride_name,substrate_name,yield"]
    for place in range(12):
        lines += [
            f"{base},PBSF,s{place},{mean + 5 * (place % 5)}" for base, mean in (("DBU", 20), ("BTPP", 60))
        ]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    printed = run_example("reactions/labs.py", "table.csv", "--seed", "3", folder=tmp_path)
    assert re.search(r"BTPP \+ PBSF is the best of 2 conditions, which is right: \d+ reactions\.", printed)
    assert (tmp_path / "labs.png").read_bytes().startswith(b"\x89PNG")
