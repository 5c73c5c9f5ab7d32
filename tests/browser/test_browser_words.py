"""Numbers in words, the waits between tries, and the pieces of a stream, in the browser that runs them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from serving import Process

from bestarm.shown import share, still


@pytest.fixture(scope="module")
def page(browser: Browser, server: Process) -> Page:
    opened = browser.new_page()
    opened.goto(f"{server.url}/icon.svg")
    return opened


def ask(page: Page, file: str, expression: str) -> Any:
    """The value of an expression in which `m` is one of the dashboard's files."""
    return page.evaluate(f"async () => {{ const m = await import('/{file}'); return {expression}; }}")


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("m.more({low: 437, high: 1748})", "about 440 to 1,700 more"),
        ("m.more({low: 1, high: 4})", "about 1 to 4 more"),
        ("m.more({low: 1, high: 1})", "about 1 more"),
        ("m.more({low: 99.6, high: 123456})", "about 100 to 120,000 more"),
        ("m.duration(1)", "1 second"),
        ("m.duration(80)", "80 seconds"),
        ("m.duration(7200)", "2 hours"),
        ("m.duration(86400 * 2)", "2 days"),
        ("m.durations(3600, 5 * 3600)", "1 to 5 hours"),
        ("m.durations(1, 40)", "1 to 40 seconds"),
        ("m.durations(90, 100)", "about 2 minutes"),
        ("m.durations(754, 180253)", "13 minutes to 2 days"),
        ("m.ago(0.4)", "just now"),
        ("m.ago(200)", "3 minutes ago"),
        ("m.bytes(999)", "999 B"),
        ("m.bytes(1234)", "1.2 kB"),
        ("m.bytes(45678901)", "46 MB"),
        ("m.percent(0.999999)", "99 %"),
        ("m.percent(0.29)", "29 %"),
        ("m.percent(0.576)", "58 %"),
        ("m.percent(1)", "100 %"),
        ("m.fixed(-0.25, 1)", "−0.3"),
        ("[-0.216, -35.4, 0.03, 0].map((value) => m.end(value, 0)).join()", "−0.2,−35,0.03,0"),
        ("[-0.2, 0.4, 0].map((value) => m.end(value, 0)).join()", "−0.2,0.4,0"),
        ("m.fixed(2.13e-7, m.decimals(3e-8))", "0.000000213"),
        ("m.digits(null)", "–"),
        ("m.digits(0.0000123)", "1.23e−5"),
        ("m.named('x'.repeat(90), 5)", "\u2068xxxx…\u2069"),
        ("m.counted(1, 'upload') + ', ' + m.counted(1200, 'upload')", "1 upload, 1,200 uploads"),
    ],
)
def test_words(page: Page, expression: str, words: str) -> None:
    assert ask(page, "shared/words.js", expression) == words


def test_shares_are_rounded_as_the_server_rounds_them(page: Page) -> None:
    values = [k / 1000 for k in range(-3, 1010)] + [1e-9, 0.9999999, 0.005, 0.995, 5.0]
    assert ask(page, "shared/words.js", f"{values}.map(m.percent)") == [share(value) for value in values]


def test_guesses_are_rounded_as_the_shell_rounds_them(page: Page) -> None:
    guesses = [(low, 7 * low + 5) for low in [*range(1, 400), 949, 950, 995, 1049, 1050, 99499, 10**6 + 1]]
    said = ask(
        page, "shared/words.js", f"{[list(one) for one in guesses]}.map(([low, high]) => m.more({{low, high}}))"
    )
    assert said == [f"{still(low, high)} more" for low, high in guesses]


@pytest.mark.parametrize(
    ("typed", "ends"),
    [
        ("0 to 100", [0, 100]),
        ("0-100", [0, 100]),
        ("0 – 100", [0, 100]),
        ("0;1", [0, 1]),
        ("0, 1.2", [0, 1.2]),
        ("-1,5 to 2,5", [-1.5, 2.5]),
        ("-5 -1", [-5, -1]),
        ("all", "all"),  # the server says what is wrong with it
        ("0 to 1,000", "0 to 1,000"),  # a thousand, or 1
    ],
)
def test_a_range_as_people_write_it(typed: str, ends: object, page: Page) -> None:
    said = {"name": "s", "arms": "A\nB", "rewards": "normal", "reward_range": typed}
    problem = ask(page, "act/create.js", f"m.asked({json.dumps(said)}).problem")
    assert problem["reward_range"] == ends
    assert problem["rewards"] == "normal"  # as the form shows; a range alone would mean "bounded"


def test_items_are_asked_for(page: Page) -> None:
    said = {"name": "s", "arms": "A\nB", "items": "yes", "unit": "", "agents": "3"}
    problem = {"name": "s", "arm": [{"name": "A"}, {"name": "B"}]}
    for typed, more in (("yes", {"items": True}), ("", {})):
        body = ask(page, "act/create.js", f"m.asked({json.dumps(said | {'items': typed})})")
        assert body == {"problem": problem | more, "agents": 3}


def test_of_arms_with_nothing_against_them_the_better_one_comes_first(page: Page) -> None:
    arms = [{"arm": arm, "odds": odds} for arm, odds in (("C", 0.9), ("D", 30.0), ("B", 1.0), ("A", 1.0))]
    known = [{"arm": arm, "rank": rank} for arm, rank in (("C", 3), ("D", 4), ("B", 2), ("A", 1))]
    found = ask(page, "study/standing.js", f"m.ordered({json.dumps({'arms': arms, 'leader': 'A'})}, {known})")
    assert [one["arm"] for one in found] == ["A", "B", "C", "D"]


def test_waits_grow_and_end_at_half_a_minute(page: Page) -> None:
    waits = ask(page, "shared/stream.js", "[1, 2, 3, 4, 5, 6, 7, 50].map((n) => m.pause(n, 0.5))")
    assert waits == [1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000]
    assert ask(page, "shared/stream.js", "[m.pause(50, 0), m.pause(50, 1)]") == [22500, 37500]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_stream_may_be_cut_anywhere(page: Page, size: int) -> None:
    """Between two letters, inside a letter of three bytes, inside a frame: the events are the same."""
    text = ': following\\n\\nid: 1\\nevent: upload\\ndata: {"agent": "é数🧪: x"}\\n\\n: nothing new\\n\\n'
    text += 'id: 2\\nevent: stop\\ndata: {"arm": "A"}\\n\\nid: 3\\nevent: upload\\ndata: {"never'
    script = f"""async () => {{
      const {{ messages }} = await import("/shared/stream.js");
      const bytes = new TextEncoder().encode('{text}');
      const body = new ReadableStream({{
        start(control) {{
          for (let k = 0; k < bytes.length; k += {size}) control.enqueue(bytes.slice(k, k + {size}));
          control.close();
        }},
      }});
      const found = [];
      for await (const message of messages(body)) found.push(message);
      return found;
    }}"""
    assert page.evaluate(script) == [
        {"event": "upload", "data": {"agent": "é数🧪: x"}},
        {"event": "stop", "data": {"arm": "A"}},
    ]


def test_an_axis_with_long_numbers_has_few(page: Page) -> None:
    marks = "m.ticks({low: %s, high: %s}).map(([, text]) => text)"
    assert ask(page, "study/arms.js", marks % (0, 1)) == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert len(ask(page, "study/arms.js", marks % (-1e-6, 1e-6))) <= 3
