"""What every registered method keeps to."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import numpy as np

from bestarm.core.tally import Tally
from bestarm.methods import METHODS, SELECTIONS, Kind, Method
from bestarm.methods import method as build
from bestarm.protocol.agent import Agent
from bestarm.protocol.entries import Join, Upload, body_of, entry_from
from bestarm.protocol.messages import Download, Stop, reply_from_json
from bestarm.protocol.server import Server
from bestarm.simulation.api import prepare
from bestarm.simulation.compiled.rebind import rebind
from bestarm.simulation.engine import Engine, loop_of
from bestarm.simulation.outcome import is_wrong
from bestarm.testing.demand import UNLIKELY, close, demand, demand_rate, same_bits
from bestarm.testing.worlds import AGENTS, WORLDS, batches, methods_on_worlds, reward_of

RUNS = 150
FEW_RUNS = 30
MOST_SAMPLES = 100_000
STUCK_SAMPLES = 3_000  # enough for a selection that gets stuck


def check_method(name: str, compiled: bool = True) -> None:
    """Every law for methods, on every problem of the suite that the method takes.

    Compiling takes a while: without `compiled` the laws are tried on the loop as it stands, with fewer runs.
    """
    demand(name in METHODS, f"{name} is no registered method")
    found = methods_on_worlds(name)
    demand(found, f"{name} takes none of the suite's problems ({', '.join(WORLDS)})")
    for world, method in found.items():
        for law in METHOD_LAWS:
            law(method, f"{name} on the {world} problem", compiled)


def record_is_complete(method: Method, who: str, compiled: bool = True) -> None:
    """A method says what it is, and its figures have a colour or get one."""
    recipe = method.recipe
    demand(recipe.help, f"{who}: its defaults have no docstring, which is its help")
    demand(recipe.reference, f"{who}: it has no reference")
    demand(isinstance(recipe.kind, Kind), f"{who}: its kind is {recipe.kind!r}")


def parameters_survive_json(method: Method, who: str, compiled: bool = True) -> None:
    """A method built anew from the text of its parameters is the same method."""
    parameters = json.loads(json.dumps(dict(method.parameters), allow_nan=False))
    again = build(method.name, method.problem, method.agents, **parameters)
    demand(again.parameters == method.parameters, f"{who}: its parameters do not survive JSON")
    demand(same_bits(again.setting, method.setting), f"{who}: its own parameters, given, make another setting")
    demand(again.rules == method.rules, f"{who}: its own parameters, given, make other rules")


def plans_are_valid(method: Method, who: str, compiled: bool = True) -> None:
    """A plan has pulls, each arm once, is a function of the state, and fits plates and wishes."""
    for seed in range(10):
        state = method.begin()
        for tally in batches(method, 5, seed, complete=seed % 2 == 0):
            state = method.fold(state, tally, 0)
            plan = method.make(state)
            demand(plan.size >= 1, f"{who}: it makes a plan without a pull")
            demand(
                min(plan.counts) >= 1, f"{who}: it makes a plan in which an arm has {min(plan.counts)} pulls"
            )
            demand(len(set(plan.arms)) == len(plan.arms), f"{who}: it makes a plan that names an arm twice")
            demand(set(plan.arms) <= set(range(method.problem.K)), f"{who}: it makes a plan for no arm")
            missing = set(np.flatnonzero(state.pulls == 0).tolist())
            beside = len(set(plan.arms) - missing)  # one, where arms are compared inside batches only
            demand(
                not missing or (missing <= set(plan.arms) and beside <= method.test.inside_batches),
                f"{who}: arms that were never pulled do not come first",
            )
            demand(missing or len(plan.arms) <= method.plan_width, f"{who}: it makes a plan of too many arms")
            demand(method.make(state) == plan, f"{who}: the same state gets another plan")
            fitted = method.make(state, 7, {plan.arms[0]})
            demand(fitted.size % 7 == 0, f"{who}: a plan for plates of 7 has {fitted.size} pulls")
            demand(plan.arms[0] not in fitted.arms, f"{who}: a plan has an arm that the site can't do")


def _study(method: Method) -> tuple[Server, list[Download | Stop], list[Agent]]:
    """A server and its agents until the end, or for forty uploads; all answers go through JSON text."""
    names = method.problem.arms
    server, chance = Server(method), random.Random(7)
    agents = [Agent(method, f"lab-{m}") for m in range(AGENTS)]
    answers: list[Download | Stop] = []
    for number, agent in enumerate(agents):
        answers.append(server.receive(Join(agent.name, plate=None if number else 5)))
        agent.receive(answers[-1])
    means = dict(zip(names, [] if method.problem.means is None else method.problem.means, strict=True))
    for turn in range(40):
        agent = agents[turn % AGENTS]
        if agent.finished:
            break
        while agent.upload is None:
            (trial,) = agent.ask()
            agent.tell(trial, reward_of(means[trial.arm], method.problem, chance))
        answers.append(server.receive(agent.upload))
        text = json.dumps(answers[-1].to_json(names))
        agent.receive(reply_from_json(json.loads(text), method.problem))
    return server, answers, agents


def studies_are_their_logs(method: Method, who: str, compiled: bool = True) -> None:
    """A server is rebuilt from its log bit for bit, and an entry sent again changes nothing."""
    if method.kind is Kind.SYNCHRONOUS:
        return
    server, answers, _ = _study(method)
    names = method.problem.arms
    text = json.dumps([(logged.entry.word, body_of(logged.entry, names)) for logged in server.entries])
    entries = [entry_from(word, body, names) for word, body in json.loads(text)]
    again = Server.replay(method, entries)
    demand(same_bits(again.state, server.state), f"{who}: the log leads to another state")
    demand(again.verdict == server.verdict, f"{who}: the log leads to another verdict")
    demand(again.total == server.total, f"{who}: the log leads to another total")
    for entry, answer in zip(entries, answers, strict=True):
        demand(server.receive(entry) == answer, f"{who}: an entry sent again gets another answer")
        demand(again.receive(entry) == answer, f"{who}: after a replay an entry gets another answer")
    demand(len(server.entries) == len(entries), f"{who}: an entry sent again is counted again")
    demand(same_bits(again.state, server.state), f"{who}: an entry sent again changes the state")


def agents_would_plan_the_same(method: Method, who: str, compiled: bool = True) -> None:
    """Where everybody downloads the total, the plan that is sent is the one that an agent makes from it."""
    if method.kind is Kind.SYNCHRONOUS or not method.recipe.sends_total:
        return
    server, answers, _ = _study(method)
    for logged, answer in zip(server.entries, answers, strict=True):
        entry = logged.entry
        if isinstance(answer, Download) and isinstance(entry, Join | Upload):
            demand(answer.total is not None, f"{who}: an answer has no total")
            own = method.plan(answer.total or Tally.empty(method.problem.K))
            fitted = own.fitted(server.sites[entry.agent].plate, (), [])
            demand(answer.plan == fitted, f"{who}: the plan sent is not the one that an agent would make")


def the_same_seed_gives_the_same_run(method: Method, who: str, compiled: bool = True) -> None:
    """In every engine a run depends on its seed and its number alone."""
    for engine in ("events", "rounds") if compiled else ("rounds",):
        first, second = (_engine(method, engine) for _ in range(2))
        demand(first.run(3) == second.run(3), f"{who}: the {engine} engine does not repeat a run")


def compiled_runs_are_the_same(method: Method, who: str, compiled: bool = True) -> None:
    """The compiled loop and the same loop as it stands make the same runs."""
    if not compiled:
        return
    events, loop = _engine(method, "events"), loop_of(method, rebind)
    for number in range(4):
        outcome = events.run(number)  # first, since it solves the linear programmes that the run needs
        chance = np.random.default_rng(np.random.SeedSequence(1, spawn_key=(number,)))
        plain, *_ = loop(*events._arguments, MOST_SAMPLES, chance, np.zeros((0, 4)), np.zeros(1, np.int64))
        same = outcome._replace(breaking_index=0.0) == plain._replace(breaking_index=0.0)
        demand(same, f"{who}: compiled, run {number} is {outcome}, and as it stands {plain}")
        demand(
            close(outcome.breaking_index, plain.breaking_index), f"{who}: compiled, it ends with another index"
        )


def engines_agree(method: Method, who: str, compiled: bool = True) -> None:
    """Pull by pull through agents and a server, or from upload to upload: the same distribution."""
    from scipy.stats import ks_2samp

    if method.kind is not Kind.FEDERATED or not compiled:
        return
    events, rounds = (_engine(method, engine) for engine in ("events", "rounds"))
    skipped = [events.run(number) for number in range(2 * RUNS)]
    stepped = [rounds.run(number) for number in range(RUNS)]
    for field in ("samples", "communications", "switches", "unsent"):
        both = [[getattr(outcome, field) for outcome in runs] for runs in (skipped, stepped)]
        demand(ks_2samp(*both).pvalue > UNLIKELY, f"{who}: the two engines have different {field}")


def answers_are_right(method: Method, who: str, compiled: bool = True) -> None:
    """On a problem that can be told apart it comes to an answer, which is wrong with probability at most δ.

    A selection that gets stuck says so, and a test without a proof promises nothing.
    """
    engine = _engine(method, "events" if compiled else "rounds")
    outcomes = [engine.run(number) for number in range(2 * RUNS if compiled else FEW_RUNS)]
    stuck = SELECTIONS[str(method.parameters["selection"])].gets_stuck
    demand(stuck or all(outcome.stopped for outcome in outcomes), f"{who}: runs end without an answer")
    if not method.proven:
        return
    wrong = is_wrong(method.problem.merits(engine.environment.means), method.problem.epsilon)
    errors = sum(bool(outcome.stopped and wrong[outcome.arm]) for outcome in outcomes)
    demand_rate(errors, len(outcomes), method.problem.delta, f"{who}: its answers are wrong too often")


def counts_add_up(method: Method, who: str, compiled: bool = True) -> None:
    """Samples are sent or unsent; an upload has one download, but for the last one."""
    engine = _engine(method, "events" if compiled else "rounds")
    for number in range(20 if compiled else 3):
        outcome = engine.run(number)
        demand(0 <= outcome.unsent <= outcome.samples, f"{who}: a run has {outcome.unsent} samples unsent")
        if method.kind is Kind.FEDERATED:
            demand(outcome.communications == 2 * outcome.uploads - 1, f"{who}: its messages are miscounted")


def _engine(method: Method, engine: str) -> Engine:
    stuck = SELECTIONS[str(method.parameters["selection"])].gets_stuck
    return prepare(method, seed=1, engine=engine, max_samples=STUCK_SAMPLES if stuck else MOST_SAMPLES)


Law = Callable[[Method, str, bool], None]
METHOD_LAWS: tuple[Law, ...] = (
    record_is_complete,
    parameters_survive_json,
    plans_are_valid,
    studies_are_their_logs,
    agents_would_plan_the_same,
    the_same_seed_gives_the_same_run,
    compiled_runs_are_the_same,
    engines_agree,
    answers_are_right,
    counts_add_up,
)
