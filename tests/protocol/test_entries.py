"""What the entries of a log do to a study, one kind at a time."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from logs import bits, everything
from toys import OPEN, known

from bestarm import Agent, Download, Method, Problem, ProtocolError, Server, Stop, Tally, Upload
from bestarm.core.plan import Plan
from bestarm.core.stopping.pairs import pair_radius
from bestarm.methods import TESTS, Kind
from bestarm.methods import method as build
from bestarm.protocol.entries import ArmAdded, ArmWithdrawn, Close, Correction, Join, Reopen
from bestarm.protocol.messages import Conflict, Over
from bestarm.verdict import Reason

ARMS = ("A", "B", "C", "D")
FEATURES = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, -0.6]]
PLAIN = Problem(list(ARMS), sigma=0.3, delta=0.05)
LINEAR = Problem(list(ARMS), sigma=0.3, delta=0.05, features=FEATURES)


@pytest.fixture(autouse=True)
def toys() -> Iterator[None]:
    with known(OPEN):
        yield


def upload(agent: str, sequence: int, pulls: list[int], sums: list[float]) -> Upload:
    return Upload(PLAIN.fingerprint, agent, sequence, Tally.of(pulls, sums))


def started(method: str = "famabpe", **parameters: Any) -> Server:
    """A server that has one pull of each arm, and the upload of another lab."""
    server = Server(build(method, PLAIN, agents=2, **parameters))
    server.receive(upload("lab-a", 1, [1, 1, 1, 1], [0.9, 0.6, 0.3, 0.1]))
    server.receive(upload("lab-b", 1, [5, 5, 0, 0], [4.5, 3.0, 0.0, 0.0]))
    return server


def plan_of(answer: Download | Stop) -> Plan:
    assert isinstance(answer, Download)
    assert answer.plan is not None
    return answer.plan


# Plans


def test_a_plan_is_kept_with_its_entry() -> None:
    server = started("sharp")
    first = server.log[0]
    kept = server.entries[0].plan
    assert kept is not None
    assert plan_of(server.receive(first)) == kept
    # Whatever came since: a plan made now would be another one.
    server.receive(upload("lab-b", 2, [50, 50, 1, 1], [45.0, 30.0, 0.3, 0.1]))
    server.receive(ArmWithdrawn("w1", "admin", "D"))
    assert plan_of(server.receive(first)) == kept
    assert server.method.make(server.state) != kept


def test_a_site_says_how_it_works() -> None:
    server = started("sharp")
    wide = plan_of(server.receive(Join("lab-c", plate=24, cannot=("A",))))
    assert wide.size % 24 == 0
    assert 0 not in wide.arms
    # Said anew, it holds from the next plan on; the first join is still answered as it was.
    narrow = plan_of(server.receive(Join("lab-c", plate=5, number=1)))
    assert narrow.size % 5 == 0
    assert plan_of(server.receive(Join("lab-c", plate=24, cannot=("A",)))) == wide
    assert server.last_answer("lab-c") == server.receive(Join("lab-c", plate=5, number=1))
    done = Tally.from_rows(
        {arm: (count, 0.5 * count) for arm, count in zip(narrow.arms, narrow.counts, strict=True)}, 4
    )
    after = plan_of(server.receive(Upload(PLAIN.fingerprint, "lab-c", 1, done)))
    assert after.size % 5 == 0


@pytest.mark.parametrize(
    ("join", "sentence"),
    [
        (Join("lab-c", plate=0), "join: plate is 0; it must be a whole number of at least 1."),
        (Join("lab-c", plate=-3), "join: plate is -3; it must be a whole number of at least 1."),
        (Join(""), "join: agent is ''; it must be a name."),
        (Join("lab-c", cannot=("X",)), "join: 'X' is not an arm of the study."),
        (Join("lab-c", cannot=ARMS), "join: a site must be able to do at least one arm."),
    ],
)
def test_sites_that_can_not_be(join: Join, sentence: str) -> None:
    server = started()
    before = everything(server)
    with pytest.raises(ProtocolError) as caught:
        server.receive(join)
    assert str(caught.value) == sentence
    assert everything(server) == before


def test_the_total_is_sent_by_the_papers_methods_alone() -> None:
    for name, sends in (("famabpe", True), ("sharp", False)):
        server = started(name)
        answer = server.receive(server.log[0])
        assert isinstance(answer, Download)
        assert (answer.total is not None) is sends
        assert answer.plan is not None


@pytest.mark.parametrize(("name", "problem"), [("famabpe", PLAIN), ("falinpe", LINEAR)])
def test_the_plan_sent_is_the_one_an_agent_would_make(name: str, problem: Problem) -> None:
    method = build(name, problem, agents=2)
    server = Server(method)
    for sequence in range(1, 12):
        pulls, sums = [3 * sequence, 2, 1, 1], [2.0 * sequence, 1.0, 0.4, 0.1 * sequence]
        answer = server.receive(Upload(problem.fingerprint, "lab", sequence, Tally.of(pulls, sums)))
        assert isinstance(answer, Download)
        assert answer.total is not None
        assert answer.plan == method.plan(answer.total)


# Corrections


def test_a_correction_after_the_stop_leaves_the_verdict() -> None:
    server = started()
    wrong = upload("lab-a", 2, [500] * 4, [500.0, 100.0, 100.0, 100.0])
    stopped = server.receive(wrong)
    assert isinstance(stopped, Stop)
    assert stopped.verdict.arm == "A"
    right = Correction(
        "c1", "admin", "lab-a", 2, Tally.of([500] * 4, [100.0, 500.0, 100.0, 100.0]), "columns swapped"
    )
    assert server.receive(right) == stopped
    assert server.verdict == stopped.verdict
    assert (server.now.stopped, server.now.arm) == (True, "B")
    assert server.stopped_at == 3


def test_the_last_correction_counts() -> None:
    server = started()
    for number, first in enumerate([0.7, 0.2, 0.85]):
        rows = Tally.of([1, 1, 1, 1], [first, 0.6, 0.3, 0.1])
        server.receive(Correction(f"c{number}", "lab-a", "lab-a", 1, rows))
        assert server.total.reward_sums[0] == first + 4.5
    assert len(server.log) == 2
    assert server.log[0].tally.reward_sums[0] == 0.9  # what was sent stays in the log


@pytest.mark.parametrize(
    ("correction", "sentence"),
    [
        (
            Correction("c", "x", "lab-a", 2, Tally.of([1] * 4, [0.5] * 4)),
            "correction: agent 'lab-a' has no upload 2 …",
        ),
        (
            Correction("c", "x", "lab-a", 0, Tally.of([1] * 4, [0.5] * 4)),
            "correction: agent 'lab-a' has no upload 0 …",
        ),
        (
            Correction("c", "x", "lab-z", 1, Tally.of([1] * 4, [0.5] * 4)),
            "correction: agent 'lab-z' has no upload 1 …",
        ),
        (Correction("c", "x", "lab-a", 1, Tally.empty(4)), "tally: pulls must not be negative, …"),
        (Correction("c", "x", "lab-a", 1, Tally.of([1], [math.nan])), "tally: it is about 1 arms, …"),
        (
            Correction("c", "x", "lab-a", 1, Tally.of([2**53 - 1, 0, 0, 0], [1.0, 0, 0, 0])),
            "tally: with it the total …",
        ),
    ],
)
def test_corrections_that_can_not_be(correction: Correction, sentence: str) -> None:
    server = started()
    before = everything(server)
    with pytest.raises(ProtocolError) as caught:
        server.receive(correction)
    assert str(caught.value).startswith(sentence.removesuffix("…"))
    assert everything(server) == before


# Arms that go and come


def test_an_arm_that_is_withdrawn_can_not_be_the_answer() -> None:
    server = started()
    server.receive(upload("lab-a", 2, [40, 40, 40, 40], [38.0, 24.0, 8.0, 1.0]))
    assert server.verdict.leader == "A"
    server.receive(ArmWithdrawn("w1", "admin", "A", "it explodes"))
    assert server.verdict.leader == "B"
    state, samples = bits(server.state), server.samples
    # A site that has not heard of it yet may send it: taken, counted as samples, and of no consequence.
    server.receive(upload("lab-b", 2, [30, 0, 0, 0], [30.0, 0.0, 0.0, 0.0]))
    assert bits(server.state) == state
    assert server.samples == samples + 30
    assert server.arms == ARMS


@pytest.mark.parametrize(
    ("gone", "arm", "sentence"),
    [
        ((), "X", "arm: 'X' is not an arm of the study."),
        (("A",), "A", "arm: 'A' is not an arm of the study."),
        (("A", "B"), "C", "arm: a study needs at least two arms; close it instead."),
    ],
)
def test_arms_that_can_not_be_withdrawn(gone: tuple[str, ...], arm: str, sentence: str) -> None:
    server = started()
    for name in gone:
        server.receive(ArmWithdrawn(f"w-{name}", "admin", name))
    before = everything(server)
    with pytest.raises(ProtocolError) as caught:
        server.receive(ArmWithdrawn("w", "admin", arm))
    assert str(caught.value) == sentence
    assert everything(server) == before


PAYS = {"famabpe": PLAIN, "ugapec": PLAIN, "pairs": PLAIN, "lingape": LINEAR}  # their radius has a K in it


def served(test: str) -> Method:
    base, problem = ("lingape", LINEAR) if TESTS[test].model.linear else ("famabpe", PLAIN)
    return build(base, problem, agents=1, stopping=test)


@pytest.mark.parametrize("test", ["famabpe", "ugapec", "pairs", "falinpe", "lingape", "span"])
def test_arms_that_are_gone_are_paid_for(test: str) -> None:
    """The union over arms is the one of the beginning: an arm is not withdrawn for nothing."""
    server = Server(served(test))
    tally = Tally.of([20, 20, 20, 20], [12.0, 10.0, 8.0, 2.0])
    server.receive(Upload(server.terms.fingerprint, "lab", 1, tally))
    server.receive(ArmWithdrawn("w1", "admin", "D"))
    server.receive(ArmWithdrawn("w2", "admin", "C"))
    method = server.method
    assert (method.setting.arms, method.setting.counted) == (2, 4)
    cheaper = method.rules.read(server.state, method.setting._replace(counted=2))
    paid = method.read(server.state)
    assert bool(paid.evidence < cheaper.evidence) is (test in PAYS)
    assert method.test.radii is not None
    wide, narrow = (
        method.test.radii(server.state, method.setting._replace(counted=counted)) for counted in (4, 2)
    )
    assert bool((wide > narrow).all()) is (test in PAYS)


def test_the_level_is_that_of_the_first_number_of_arms() -> None:
    """The pair test and FAMABPE's radius by hand: 4 arms at the beginning, two of them gone."""
    for test in ("pairs", "famabpe"):
        server = Server(served(test))
        server.receive(Upload(server.terms.fingerprint, "lab", 1, Tally.of([20] * 4, [12.0, 10.0, 8.0, 2.0])))
        server.receive(ArmWithdrawn("w1", "admin", "D"))
        server.receive(ArmWithdrawn("w2", "admin", "C"))
        if test == "pairs":
            radius = 0.3 * pair_radius(20, 20, math.log((4 - 1) / 0.05), 10.0)
        else:
            gamma = server.method.setting.gamma_over / server.method.setting.gamma_under
            spread = (1 + gamma) * 40
            radius = 2 * 0.3 * math.sqrt(2 / 20 * math.log(4 * 4 / 0.05 * spread**2))
        assert server.verdict.breaking_index == pytest.approx(radius - (12 - 10) / 20, rel=1e-12)


@pytest.mark.parametrize("test", ["famabpe", "ugapec", "pairs", "falinpe", "lingape", "span"])
def test_todays_tests_take_no_new_arms(test: str) -> None:
    server = Server(served(test))
    before = everything(server)
    with pytest.raises(ProtocolError) as caught:
        server.receive(ArmAdded("a1", "admin", "E", (0.5, 0.5)))
    assert str(caught.value) == (
        f"arm: the test {test} counts its arms at the beginning, and its promise would not hold with another "
        "one; start a new study."
    )
    assert everything(server) == before


def test_an_arm_that_comes() -> None:
    server = started(stopping="open")
    agent = Agent(server.original, "lab-c")
    agent.receive(server.receive(Join("lab-c")))
    trials = agent.ask(100)
    answer = server.receive(ArmAdded("a1", "admin", "E"))
    assert isinstance(answer, Download)
    assert answer.arms == (*ARMS, "E") == server.arms == server.method.problem.arms
    assert server.method.setting.counted == 5
    assert (server.verdict.stopped, server.verdict.evidence) == (False, 0.0)  # E was never pulled
    # The batch that was under way is taken, and its answer has the new arm in it.
    for trial in trials:
        sent = agent.tell(trial, 0.5)
    assert sent is not None
    assert sent.tally.size == 4
    reply = server.receive(sent)
    assert isinstance(reply, Download)
    assert plan_of(reply) == Plan((4,), (1,))
    agent.receive(reply)
    assert [trial.arm for trial in agent.ask(9)] == ["E"]
    # The same upload with the names of today, as it comes from a journal, is a repeat and no conflict.
    wider = Upload(sent.problem, sent.agent, sent.sequence, Tally.from_rows(sent.tally.rows, 5))
    assert server.receive(wider) == reply
    with pytest.raises(ProtocolError, match="the study has, or had, an arm 'E' already"):
        server.receive(ArmAdded("a2", "admin", "E"))
    server.receive(ArmWithdrawn("w1", "admin", "E"))
    with pytest.raises(ProtocolError, match="the study has, or had, an arm 'E' already"):
        server.receive(ArmAdded("a2", "admin", "E"))
    assert server.method.setting.counted == 5


def test_an_added_arm_needs_the_features_of_its_problem() -> None:
    server = started(stopping="open")
    before = everything(server)
    with pytest.raises(ValueError, match="features"):
        server.receive(ArmAdded("a1", "admin", "E", (0.5, 0.5)))
    assert everything(server) == before


# Closing


def test_closed_and_open_again() -> None:
    server = started()
    first = server.receive(server.log[0])
    verdict = server.verdict
    server.receive(Close("x1", "admin", Reason.CLOSED, "that is all"))
    assert server.closed is Reason.CLOSED
    assert server.verdict == replace(verdict, reason=Reason.CLOSED)
    assert not server.stopped
    before = everything(server)
    more = upload("lab-a", 2, [1, 0, 0, 0], [0.9, 0.0, 0.0, 0.0])
    for entry in (more, Join("lab-c"), ArmWithdrawn("w1", "admin", "D"), Close("x2", "admin", Reason.CLOSED)):
        with pytest.raises(
            Over, match=r"^the study is over \(it was closed\); nothing more can be added to it\.$"
        ):
            server.receive(entry)
        assert everything(server) == before
    # What it had before it closed is still answered.
    assert server.receive(server.log[0]) == first
    server.receive(Reopen("r1", "admin", "two more days"))
    assert server.closed is None
    assert server.verdict == verdict
    assert isinstance(server.receive(more), Download)


def test_a_closed_study_can_be_corrected_and_shows_it_when_it_goes_on() -> None:
    server = started()
    server.receive(Close("x1", "admin"))
    verdict = server.verdict
    right = Tally.of([500] * 4, [500.0, 100.0, 100.0, 100.0])
    server.receive(Correction("c1", "admin", "lab-a", 1, right))
    assert server.verdict == verdict
    assert server.now.arm == "A"
    assert isinstance(server.receive(Reopen("r1", "admin")), Stop)
    assert server.verdict.arm == "A"


@pytest.mark.parametrize("cause", [Reason.BUDGET, Reason.DEADLINE])
def test_after_the_end_data_are_recorded_and_the_verdict_stays(cause: Reason) -> None:
    server = started("sharp")
    first = server.receive(server.log[0])
    leads = server.verdict.leader
    end = server.receive(Close("x1", "budget", cause))
    assert end == Stop(PLAIN.fingerprint, server.verdict, server.last_words)
    assert (server.over, server.stopped, server.verdict.reason, server.verdict.arm) == (
        True,
        False,
        cause,
        None,
    )
    assert server.last_words == f"{leads} leads; more can't be said of it yet."
    assert server.receive(server.log[0]) == first  # what was answered with a plan is again
    late = upload("lab-a", 2, [500] * 4, [100.0, 500.0, 100.0, 100.0])
    right = Correction("c1", "admin", "lab-a", 1, Tally.of([1] * 4, [0.5] * 4))
    for entry in (late, Join("lab-c"), right):
        assert server.receive(entry) == end
    assert (server.verdict.samples, server.now.samples) == (14, 2014)
    assert server.now.leader == "B"
    for refused in (ArmWithdrawn("w1", "admin", "D"), Close("x2", "admin"), Reopen("r1", "admin")):
        with pytest.raises(Over, match=r"^the study is over.* \(its (budget is used up|deadline is past)\);"):
            server.receive(refused)


def test_arms_stay_once_the_best_is_known() -> None:
    server = started()
    assert isinstance(server.receive(upload("lab-a", 2, [500] * 4, [500.0, 100.0, 100.0, 100.0])), Stop)
    before = everything(server)
    for entry in (ArmWithdrawn("w1", "admin", "A"), ArmAdded("a1", "admin", "E")):
        with pytest.raises(Over, match=r"the best arm is known\); its arms stay as they are\.$"):
            server.receive(entry)
    assert everything(server) == before


def test_a_changed_repeat_of_an_upload_names_the_agent() -> None:
    server = started()
    with pytest.raises(Conflict, match="agent 'lab-a' sent sequence 1 before with another tally"):
        server.receive(upload("lab-a", 1, [2, 1, 1, 1], [0.9, 0.6, 0.3, 0.1]))


def test_a_correction_that_settles_it_does_not_change_earlier_answers() -> None:
    """The upload before it was answered with a plan, and is again; whoever comes later hears the verdict."""
    server = started()
    first = server.receive(upload("lab-a", 2, [500] * 4, [300.0] * 4))
    assert isinstance(first, Download)
    right = Tally.of([500] * 4, [500.0, 100.0, 100.0, 100.0])
    assert isinstance(server.receive(Correction("c1", "admin", "lab-a", 2, right)), Stop)
    assert server.stopped_at == 3
    assert server.receive(upload("lab-a", 2, [500] * 4, [300.0] * 4)) == first
    assert isinstance(server.last_answer("lab-a"), Stop)


def test_only_what_is_served_has_a_server() -> None:
    assert {method.kind for method in map(served, PAYS)} <= {Kind.FEDERATED, Kind.ALONE}
