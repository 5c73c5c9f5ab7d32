"""A study is its log: entries in any order, live, again, refused or replayed, lead to the same server."""

import json
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from logs import answer_bits, bits, changed, everything, uploads
from toys import OPEN, SCATTERED, known

from bestarm import Download, Method, Problem, ProtocolError, Server, Stop, Tally, Upload
from bestarm.methods import method as build
from bestarm.methods.compose import compose
from bestarm.protocol.entries import (
    ENTRIES,
    ArmAdded,
    ArmWithdrawn,
    Close,
    Correction,
    Entry,
    Join,
    Note,
    Renamed,
    Reopen,
    TokenMade,
    TokenRevoked,
    body_of,
    entry_from,
)
from bestarm.protocol.messages import Conflict
from bestarm.verdict import Reason

ARMS = ("A", "B", "C", "D")
AGENTS = ("lab-a", "lab-b", "lab-c")
FEATURES = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, -0.6]]
PLAIN = Problem(list(ARMS), sigma=0.3, delta=0.05)
LINEAR = Problem(list(ARMS), sigma=0.3, delta=0.05, features=FEATURES)
with known(OPEN, SCATTERED):
    METHODS: dict[str, Method] = {
        "famabpe": build("famabpe", PLAIN, agents=3),
        "sharp": build("sharp", PLAIN, agents=3),
        "falinpe": build("falinpe", LINEAR, agents=3, selection="greedy"),
        "span": build("sharp", LINEAR, agents=3),
        "arms that come": build("famabpe", PLAIN, agents=3, stopping="open"),
        "squares": build("famabpe", PLAIN, agents=3, stopping="scattered"),
    }


@pytest.fixture(autouse=True, scope="module")
def toys() -> Iterator[None]:
    with known(OPEN, SCATTERED):
        yield


# Per arm: no pulls, or pulls with a mean. With means far apart the server stops within some logs.
rows = st.lists(
    st.one_of(st.just((0, 0.0)), st.tuples(st.integers(1, 300), st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0]))),
    min_size=6,
    max_size=6,
)
Rows = list[tuple[int, float]]
agents = st.sampled_from(AGENTS)
places = st.integers(0, 30)
# What somebody tries; what it becomes depends on the server at that moment.
acts = st.one_of(
    st.tuples(st.just("upload"), agents, rows),
    st.tuples(st.just("upload"), agents, rows),
    st.tuples(st.just("upload"), agents, rows),
    st.tuples(st.just("early"), agents, rows),
    st.tuples(
        st.just("join"), agents, st.one_of(st.none(), st.integers(0, 30)), st.sets(st.sampled_from("ABCDEX"))
    ),
    st.tuples(st.just("correct"), agents, st.integers(0, 4), rows),
    st.tuples(st.just("add"), st.sampled_from("AEFG")),
    st.tuples(st.just("withdraw"), st.sampled_from("ABCDEX")),
    st.tuples(st.just("close"), st.sampled_from(list(Reason))),
    st.tuples(st.just("reopen")),
    st.tuples(st.just("note"), st.sampled_from([TokenMade, TokenRevoked])),
    st.tuples(st.just("repeat"), places),
    st.tuples(st.just("change"), places),
)
stories = st.lists(acts, min_size=1, max_size=25)


def tally_of(values: Rows, arms: int, squares: bool) -> Tally:
    # The third root of a sum is not a short decimal: every bit of the sum matters.
    pulls = [count for count, _ in values[:arms]]
    sums = [float(np.cbrt(count * mean)) for count, mean in values[:arms]]
    around = [total * total + 0.1 if count else 0.0 for count, total in zip(pulls, sums, strict=True)]
    return Tally.of(pulls, sums, around if squares else None)


def entry_of(act: tuple, number: int, server: Server) -> Entry:  # type: ignore[type-arg]  # of many shapes
    fingerprint, squares = server.terms.fingerprint, server.terms.squares
    match act:
        case ("upload" | "early" as word, agent, values):
            sequence = server.sequences.get(agent, 0) + (1 if word == "upload" else 2)
            return Upload(fingerprint, agent, sequence, tally_of(values, len(server.arms), squares))
        case ("join", agent, plate, cannot):
            return Join(agent, None, plate, tuple(sorted(cannot)), number)
        case ("correct", agent, sequence, values):
            return Correction(
                f"c{number}", "admin", agent, sequence, tally_of(values, len(server.arms), squares)
            )
        case ("add", arm):
            return ArmAdded(f"a{number}", "admin", arm)
        case ("withdraw", arm):
            return ArmWithdrawn(f"w{number}", "admin", arm, "it is toxic")
        case ("close", cause):
            return Close(f"x{number}", "admin", cause)
        case ("reopen",):
            return Reopen(f"r{number}", "admin")
        case ("note", kind):
            note: Note = kind(f"n{number}", "admin", "agent", "lab-a")
            return note
    raise AssertionError(act)


def live(method: Method, story: list[tuple]) -> tuple[Server, list[Download | Stop]]:  # type: ignore[type-arg]
    """A server that receives a story, and what it answered to each of the entries that it took.

    On the way: a refusal leaves no trace, a repeat gets the same answer and changes nothing.
    """
    server = Server(method)
    answers: list[Download | Stop] = []
    for number, act in enumerate(story):
        before = everything(server)
        if act[0] in ("repeat", "change"):
            if not answers:
                continue
            place = act[1] % len(answers)
            entry = server.entries[place].entry
            if act[0] == "repeat":
                event(f"repeated: {entry.word}")
                assert answer_bits(server.receive(entry)) == answer_bits(answers[place])
            else:
                event(f"changed: {entry.word}")
                with pytest.raises(Conflict):
                    server.receive(changed(entry))
            assert everything(server) == before
            continue
        entry = entry_of(act, number, server)
        try:
            answers.append(server.receive(entry))
        except ProtocolError as error:
            sentence = str(error)
        else:
            event(f"taken: {entry.word}")
            assert server.knows(entry)
            continue
        event(f"refused: {entry.word}")
        assert sentence.endswith(".")
        assert everything(server) == before
        assert not server.knows(entry)
    return server, answers


@pytest.mark.parametrize("name", METHODS)
@given(story=stories)
@settings(max_examples=50, deadline=None)
def test_any_story_is_its_log(name: str, story: list[tuple]) -> None:  # type: ignore[type-arg]
    method = METHODS[name]
    server, answers = live(method, story)
    event("stopped" if server.stopped else "went on")
    wanted = everything(server)
    # Replayed without plans: all else is the same, and the plans of now are made anew where they are asked for.
    replayed = Server.replay(method, [logged.entry for logged in server.entries])
    assert everything(replayed, plans=False) == everything(server, plans=False)
    # From the text of the log, with the plans that stand in it: the very same, and the same answers again.
    names = server.arms
    text = json.dumps([(logged.entry.word, body_of(logged.entry, names)) for logged in server.entries])
    stored = Server(method)
    for (word, body), logged in zip(json.loads(text), server.entries, strict=True):
        stored.append(entry_from(word, body, stored.arms), logged.plan)
    assert everything(stored) == wanted
    for place, answer in enumerate(answers):
        for known_server in (server, stored):
            entry = known_server.entries[place].entry
            assert answer_bits(known_server.receive(entry)) == answer_bits(answer)
    assert everything(server) == wanted == everything(stored)


# Each kind by itself


def bodies() -> st.SearchStrategy[Entry]:
    words = st.text(min_size=1, max_size=6)
    arm_names = st.lists(st.sampled_from(ARMS), unique=True).map(tuple)
    finite = st.floats(allow_nan=False, allow_infinity=False)
    tallies = st.dictionaries(st.integers(0, 3), st.tuples(st.integers(1, 2**53 - 1), finite), max_size=4).map(
        lambda found: Tally.from_rows(found, len(ARMS))
    )
    squares = st.dictionaries(st.integers(0, 3), st.tuples(st.integers(1, 99), finite, finite), min_size=1).map(
        lambda found: Tally.from_rows(found, len(ARMS))
    )
    number, plate = st.integers(0, 10**6), st.one_of(st.none(), st.integers(1, 10**6))
    seen = st.one_of(tallies, squares)
    features = st.one_of(st.none(), st.lists(finite, max_size=3).map(tuple))
    return st.one_of(
        st.builds(Join, words, st.one_of(st.none(), words), plate, arm_names, number),
        st.builds(Upload, words, words, st.integers(1, 10**9), seen),
        st.builds(Correction, words, words, words, st.integers(1, 10**9), seen, words),
        st.builds(ArmAdded, words, words, words, features, words),
        st.builds(ArmWithdrawn, words, words, words, words),
        st.builds(Close, words, words, st.sampled_from(list(Reason)), words),
        st.builds(Reopen, words, words, words),
        st.builds(TokenMade, words, words, words, st.one_of(st.none(), words)),
        st.builds(TokenRevoked, words, words, words, st.one_of(st.none(), words)),
        st.builds(Renamed, words, words, words, words),
    )


@given(bodies())
@settings(max_examples=300)
def test_every_entry_survives_json_text(entry: Entry) -> None:
    event(entry.word)
    text = json.dumps(body_of(entry, ARMS))
    again = entry_from(entry.word, json.loads(text), ARMS)
    assert again == entry
    assert again.id == entry.id
    assert json.dumps(body_of(again, ARMS)) == text


def test_the_kinds_of_entries() -> None:
    assert set(ENTRIES) == {
        "joined", "uploaded", "corrected", "arm added", "arm withdrawn", "closed", "reopened", "restored",
        "token made", "token revoked", "renamed",
    }  # fmt: skip


# Entries that change the past

logs = st.lists(st.tuples(agents, rows), min_size=1, max_size=8)


def sent(method: Method, log: list[tuple[str, Rows]]) -> list[Upload]:
    tallies = [(agent, tally_of(values, len(ARMS), method.test.squares)) for agent, values in log]
    return uploads(method.problem.fingerprint, [(agent, tally) for agent, tally in tallies if tally.arms])


@pytest.mark.parametrize("name", METHODS)
@given(log=logs, data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_correction_is_the_right_number_from_the_beginning(
    name: str, log: list[tuple[str, Rows]], data: st.DataObject
) -> None:
    method = METHODS[name]
    right = sent(method, log)
    if not right:
        return
    place = data.draw(st.integers(0, len(right) - 1))
    truth = right[place]
    mistake = data.draw(
        rows.map(lambda values: tally_of(values, len(ARMS), method.test.squares)).filter(lambda t: t.arms)
    )
    when = data.draw(st.integers(place + 1, len(right)))
    corrected, at_once = Server(method), Server(method)
    for number, upload in enumerate(right, 1):
        wrong = Upload(upload.problem, upload.agent, upload.sequence, mistake)
        corrected.receive(wrong if upload == truth else upload)
        if number == when:
            corrected.receive(Correction("c1", "admin", truth.agent, truth.sequence, truth.tally))
        at_once.receive(upload)
        if number >= when:
            # Whatever was said before the mistake was noticed, the data now are the right ones.
            assert bits(corrected.state) == bits(at_once.state)
            assert corrected.total == at_once.total
            assert corrected.now == at_once.now
            if not corrected.stopped and not at_once.stopped:
                event("compared before the stop")
                assert corrected.verdict == at_once.verdict
                plans = corrected.method.make(corrected.state), at_once.method.make(at_once.state)
                assert plans[0] == plans[1]


@pytest.mark.parametrize("name", METHODS)
@given(log=logs, arm=st.sampled_from(ARMS), data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_withdrawn_arm_was_never_there(
    name: str, log: list[tuple[str, Rows]], arm: str, data: st.DataObject
) -> None:
    """A server that was built for the other arms, and pays for as many as before, is in the same state."""
    method = METHODS[name]
    all_rows = sent(method, log)
    when = data.draw(st.integers(0, len(all_rows)))
    server = Server(method)
    for number, upload in enumerate(all_rows):
        if number == when:
            server.receive(ArmWithdrawn("w1", "admin", arm))
        server.receive(upload)  # also what still has the arm is taken
    if when == len(all_rows):
        server.receive(ArmWithdrawn("w1", "admin", arm))
    gone = ARMS.index(arm)
    smaller = compose(method.recipe, method.problem.without([arm]), 3, method.parameters, counted=len(ARMS))
    state = smaller.begin()
    for upload in all_rows:
        kept = {k - (k > gone): row for k, row in upload.tally.rows.items() if k != gone}
        if kept:
            state = smaller.fold(state, Tally.from_rows(kept, len(ARMS) - 1), 0)
    assert bits(server.state) == bits(state)
    assert server.now == smaller.judge(state)
    assert arm not in (server.now.leader, server.now.challenger)
    assert len(server.log) == len(all_rows)
    assert server.method.problem.arms == smaller.problem.arms
    assert server.samples == sum(upload.tally.samples for upload in all_rows)
    # No new plan has it.
    if not server.stopped:
        answer = server.receive(Join("lab-z", plate=7))
        assert isinstance(answer, Download)
        assert answer.plan is not None
        assert gone not in answer.plan.arms
        assert answer.plan.size % 7 == 0
