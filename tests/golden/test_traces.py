"""Every method does what it did before, number for number, in both engines. `make golden` writes them anew."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "scripts"))
import golden

WANTED = json.loads(golden.TRACES.read_text(encoding="utf-8"))
CASES = {case["case"]: case for case in golden.cases()}


def test_no_case_is_lost():
    assert CASES.keys() == WANTED.keys()


@pytest.mark.parametrize("name", CASES)
def test_a_trace_is_what_it_was(name):
    found = golden.trace(CASES[name])
    assert [row[:4] for row in found] == [row[:4] for row in WANTED[name]]
    # Logarithms and matrix products may differ in the last bit from one processor to the next.
    assert [row[4] for row in found] == pytest.approx([row[4] for row in WANTED[name]], rel=1e-9, abs=1e-12)
