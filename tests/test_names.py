"""Text looks like what it is: refused where a study is made, escaped where an older one is shown."""

from __future__ import annotations

import io
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bestarm
from bestarm import Problem, UserError
from bestarm.cli import output
from bestarm.client.corrections import check_reason
from bestarm.names import check_text, is_hidden, shown

HIDDEN = {
    "NUL": "a\0b",
    "escape": "a\x1b[31mb",
    "one-byte escape": "a\x9b31mb",
    "bell": "a\x07",
    "delete": "a\x7f",
    "carriage return": "a\rb",
    "tab": "a\tb",
    "override": "a\u202eb\u202c",
    "isolate": "a\u2066b\u2069",
    "right-to-left mark": "a\u200fb",
    "zero width space": "PPh3\u200b",
    "joiner": "a\u200db",
    "byte order mark": "\ufeffa",
    "soft hyphen": "a\u00adb",
    "no-break space": "a\u00a0b",
    "em space": "a\u2003b",
    "Hangul filler": "a\u3164b",
    "Braille blank": "a\u2800b",
    "variation selector": "a\ufe0f",
    "tag": "a\U000e0041",
    "place of a tag": "a\U000e0002",
    "place of a mark that shows nothing": "a\u2065b",
    "place of a special": "a\ufff3b",
    "no character": "a\uffff",
    "note head that shows nothing": "a\U0001d159b",
    "Khitan filler": "a\U00016fe4b",
    "line separator": "a\u2028b",
    "two characters for one letter": "cafe\u0301",
}
FINE = ["PPh3", "naïve 数据 🧪", "עברית", "β-keto", "50 °C / 2 h", "=1+1", "[red]", "<b>", "Ω", "a'b\"c\\d"]


@pytest.mark.parametrize("text", HIDDEN.values(), ids=list(HIDDEN))
def test_what_can_not_be_seen_is_refused_in_a_sentence_that_can(text: str) -> None:
    with pytest.raises(UserError) as refusal:
        check_text("name of arm 1", text)
    assert str(refusal.value).startswith("name of arm 1 is '")
    assert not [letter for letter in str(refusal.value) if is_hidden(letter)]


@pytest.mark.parametrize("text", FINE)
def test_what_can_be_seen_is_taken(text: str) -> None:
    assert check_text("name", text) == text == shown(text)


@given(st.text())
def test_what_is_shown_can_be_seen_and_escapes_nothing_else(text: str) -> None:
    assert not [letter for letter in shown(text) if is_hidden(letter)]
    assert all(unicodedata.category(letter) not in ("Cc", "Cf") for letter in shown(text))
    if not any(map(is_hidden, text)):
        assert shown(text) == text


def test_a_problem_file_with_such_a_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    for line in ('arms = ["A", "B\\u200B"]', 'arms = ["A", "B"]\nunit = "m\\u202E"'):
        path.write_text(line)
        with pytest.raises(UserError, match=r"problem\.toml: .*can't be seen"):
            Problem.load(path)
    path.write_text('[[arm]]\nname = "A"\ndescription = "two\\nlines"\n[[arm]]\nname = "B"')
    assert Problem.load(path).descriptions[0] == "two\nlines"
    (tmp_path / "arms.csv").write_text("name\nA\nB\u00a0C\n")
    path.write_text('arms = "arms.csv"')
    with pytest.raises(UserError, match="can't be seen"):
        Problem.load(path)


@pytest.mark.parametrize("arms", [["A", "B\x1b[2J"], ["A", "B\u202e"], ["A", "A\u200b"]])
def test_python_makes_no_study_of_it(arms: list[str]) -> None:
    with pytest.raises(UserError, match="can't be seen"):
        bestarm.create_study(arms=arms)


def test_a_site_gives_no_such_reason() -> None:
    with pytest.raises(UserError, match="can't be seen"):
        check_reason("spilled\x1b[31m")
    assert check_reason(" spilled ") == "spilled"


HOSTILE = "[red]\x1b[31mB\x9b2J\u202eA\x07"


def printed(monkeypatch: pytest.MonkeyPatch, prints: Callable[[], None]) -> str:
    """What a person at a terminal gets."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("TERM", "dumb")  # so that rich sends no sequences of its own
    prints()
    return terminal.getvalue()


def test_nothing_from_a_name_reaches_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    table = output.make_table("arm", HOSTILE, title=HOSTILE)
    table.add_row(HOSTILE, "1")
    values: Any = {HOSTILE: [HOSTILE]}
    for prints in (
        lambda: output.print_table(table),
        lambda: output.print_table(f"the leader is {HOSTILE}."),
        lambda: output.print_json(values),
        lambda: print(output.for_terminal(HOSTILE)),
    ):
        text = printed(monkeypatch, prints)
        assert "[red]" in text
        assert not [letter for letter in text if is_hidden(letter) and letter != "\n"]
    assert json.loads(printed(monkeypatch, lambda: output.print_json(values))) == values


def test_nor_from_a_refusal_of_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    output.say(f"the server said {HOSTILE}.")
    text = capsys.readouterr().err
    assert "[red]\\x1b[31mB" in text.replace("\n", "")
    assert not [letter for letter in text if is_hidden(letter) and letter != "\n"]
