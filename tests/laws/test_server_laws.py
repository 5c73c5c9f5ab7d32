"""A server is its log: replaying it rebuilds everything, and an upload sent again changes nothing."""

import json

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from bestarm import Download, Method, Problem, Server, Stop, Tally, Upload
from bestarm.methods import method as build

ARMS = ("A", "B", "C")
FEATURES = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]
PLAIN = Problem(list(ARMS), sigma=0.3, delta=0.05, epsilon=0.0)
LINEAR = Problem(list(ARMS), sigma=0.3, delta=0.05, epsilon=0.01, features=FEATURES)
METHODS: list[Method] = [
    build("famabpe", PLAIN, agents=3),
    build("ugapec", PLAIN),
    build("sharp", PLAIN, agents=3),
    build("falinpe", LINEAR, agents=3),
    build("falinpe", LINEAR, agents=3, selection="greedy"),
    build("sharp", LINEAR, agents=3),
]
# Per arm: no pulls, or pulls with a mean reward. With means far apart the server stops within some logs.
batches = st.lists(
    st.one_of(st.just((0, 0.0)), st.tuples(st.integers(1, 500), st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0]))),
    min_size=3,
    max_size=3,
).filter(lambda entries: any(pulls for pulls, _ in entries))
logs = st.lists(st.tuples(st.sampled_from(["lab-a", "lab-b", "lab-c"]), batches), min_size=1, max_size=12)
Batch = list[tuple[int, float]]


def uploads_of(log: list[tuple[str, Batch]], method: Method) -> list[Upload]:
    sequences: dict[str, int] = {}
    uploads = []
    for agent, entries in log:
        sequences[agent] = sequences.get(agent, 0) + 1
        # The third root of a sum is not a short decimal: every bit of the sum matters.
        tally = Tally.of([p for p, _ in entries], [np.cbrt(p * mean) for p, mean in entries])
        uploads.append(Upload(method.problem.fingerprint, agent, sequences[agent], tally))
    return uploads


def answer_bits(answer: Download | Stop) -> object:
    if isinstance(answer, Stop):
        return answer
    total = None if answer.total is None else (answer.total.pulls.tobytes(), answer.total.reward_sums.tobytes())
    return answer.problem, total, answer.plan


def state_bits(server: Server) -> object:
    total = server.total.pulls.tobytes(), server.total.reward_sums.tobytes()
    log = [(u.agent, u.sequence, u.tally.pulls.tobytes(), u.tally.reward_sums.tobytes()) for u in server.log]
    return total, server.verdict, server.stopped, log, answer_bits(server.download())


@pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{m.name}-{m.parameters['stopping']}")
@given(log=logs)
@settings(max_examples=40, deadline=None)
def test_replaying_the_log_rebuilds_the_server(method: Method, log: list[tuple[str, Batch]]) -> None:
    server = Server(method)
    answers = [server.receive(upload) for upload in uploads_of(log, method)]
    event("stopped" if server.stopped else "went on")
    rebuilt = Server.replay(method, server.log)
    assert state_bits(rebuilt) == state_bits(server)
    # The same answer to every upload, old or new, without any change.
    for upload, answer in zip(server.log, answers, strict=True):
        assert answer_bits(rebuilt.receive(upload)) == answer_bits(answer)
        assert state_bits(rebuilt) == state_bits(server)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{m.name}-{m.parameters['stopping']}")
@given(log=logs)
@settings(max_examples=25, deadline=None)
def test_replaying_the_log_through_json_text_rebuilds_the_server(
    method: Method, log: list[tuple[str, Batch]]
) -> None:
    problem = method.problem
    server = Server.replay(method, uploads_of(log, method))
    lines = [json.dumps(upload.to_json(problem.arms)) for upload in server.log]
    rebuilt = Server.replay(method, [Upload.from_json(json.loads(line), problem) for line in lines])
    assert state_bits(rebuilt) == state_bits(server)


@given(log=logs, data=st.data())
@settings(max_examples=100, deadline=None)
def test_an_upload_sent_again_changes_nothing(log: list[tuple[str, Batch]], data: st.DataObject) -> None:
    method = METHODS[0]
    server, undisturbed = Server(method), Server(method)
    answers: list[tuple[Upload, Download | Stop]] = []
    for upload in uploads_of(log, method):
        answers.append((upload, server.receive(upload)))
        assert answer_bits(answers[-1][1]) == answer_bits(undisturbed.receive(upload))
        again, answer = data.draw(st.sampled_from(answers))
        assert answer_bits(server.receive(again)) == answer_bits(answer)
        assert state_bits(server) == state_bits(undisturbed)


def test_after_the_stop_too() -> None:
    """An old upload gets its download again, the last one its stop, and a late one is recorded."""
    method = METHODS[0]
    fingerprint = method.problem.fingerprint
    server = Server(method)
    first = Upload(fingerprint, "lab-a", 1, Tally.of([1, 1, 1], [1.0, 0.5, 0.5]))
    second = Upload(fingerprint, "lab-a", 2, Tally.of([500, 500, 500], [500.0, 100.0, 100.0]))
    late = Upload(fingerprint, "lab-b", 1, Tally.of([900, 0, 900], [0.0, 0.0, 9000.0]))
    went_on, stopped = server.receive(first), server.receive(second)
    assert isinstance(went_on, Download)
    assert isinstance(stopped, Stop)
    assert stopped.verdict.arm == "A"
    assert server.receive(late) == stopped  # whatever it says, the verdict stays
    assert server.total == first.tally + second.tally + late.tally
    assert len(server.log) == 3
    before = state_bits(server)
    assert answer_bits(server.receive(first)) == answer_bits(went_on)
    assert server.receive(second) == stopped
    assert server.receive(late) == stopped
    assert state_bits(server) == before
