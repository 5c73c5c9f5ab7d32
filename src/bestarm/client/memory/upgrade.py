"""A journal of an earlier version becomes one of this version, in place, with nothing lost.

The first version kept the whole problem and the method, and made its plans itself. What is told, what is open,
the plan, the numbers and an upload that waits have the same form in all, and stay as they are. Of batches that
were answered the earlier versions kept the rewards, and not which batch they were in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from bestarm.client.memory.past import SCHEMA
from bestarm.client.memory.receipts import SCHEMA as RECEIPTS
from bestarm.fingerprint import fingerprint_of
from bestarm.protocol.terms import Terms
from bestarm.reward import implied_rewards, middle_of

FIRST = 2  # the version that the first release wrote
VERSION = 5  # the one that this release writes


def upgrade(run: Callable[..., Any], seed: str, version: int) -> None:
    """What changes, within a transaction of the caller's: the steps from this version on, in turn."""
    for older in range(version, VERSION):
        STEPS[older](run, seed)


def _from_third(run: Callable[..., Any], seed: str) -> None:
    """Batches in hand, what was told with its batch, arms that can't be done, and closed studies."""
    if not any(column[1] == "batch" for column in run("PRAGMA table_info(batch)").fetchall()):
        for column in ("plates", "room"):
            run(f"ALTER TABLE said ADD COLUMN {column} INTEGER NOT NULL DEFAULT 1")
        _with_batches(run)
    run("CREATE TABLE closed (sentence TEXT NOT NULL)")
    run("CREATE TABLE cannot (arm TEXT PRIMARY KEY, reason TEXT NOT NULL)")
    run("ALTER TABLE batch ADD COLUMN at TEXT NOT NULL DEFAULT ''")
    run("ALTER TABLE told RENAME TO told_before")
    for statement in SCHEMA:
        run(statement)
    run(
        "INSERT INTO told (trial, item, arm, reward, measured, sequence, at)"
        " SELECT trial, 0, arm, reward, '', -1, '' FROM told_before ORDER BY trial"
    )
    run("DROP TABLE told_before")


def _from_first(run: Callable[..., Any], seed: str) -> None:
    """The order of trials has a seed, the site says how it works, and terms take the place of the method."""
    run("ALTER TABLE own ADD COLUMN seed TEXT NOT NULL DEFAULT ''")
    run("UPDATE own SET seed = ?", [seed])
    run(
        "CREATE TABLE said (number INTEGER NOT NULL, plate INTEGER, cannot TEXT NOT NULL,"
        " plates INTEGER NOT NULL DEFAULT 1, room INTEGER NOT NULL DEFAULT 1)"
    )
    _with_batches(run)
    run("CREATE TABLE items (labels TEXT NOT NULL)")
    run("CREATE TABLE counted (name TEXT PRIMARY KEY, body TEXT NOT NULL)")
    for (body,) in run("SELECT body FROM about").fetchall():
        old = json.loads(body)
        new = {
            "study": old["study"],
            "agent": old["agent"],
            "terms": terms_of(old["problem"]).to_json(),
            "problem": old["problem"],
        }
        run("UPDATE about SET body = ?", [json.dumps(new)])
        run("INSERT INTO said VALUES (0, NULL, '[]', 1, 1)")


def _with_batches(run: Callable[..., Any]) -> None:
    """The first version had one batch in hand, whose plan stood in the download."""
    run("ALTER TABLE batch ADD COLUMN batch INTEGER NOT NULL DEFAULT 0")
    run("UPDATE batch SET position = -1 WHERE event = 'download'")
    first = run("SELECT min(trial) FROM batch WHERE event = 'asked'").fetchone()[0]
    stop = run("SELECT max(position) FROM batch WHERE event = 'stop'").fetchone()[0]
    if first is not None:
        run("UPDATE batch SET batch = ? WHERE event NOT IN ('download', 'stop')", [first])
        run(
            "INSERT INTO batch (position, event, trial, arm, reward, body, batch)"
            " SELECT -2, 'begun', 0, '', 0.0, body, ? FROM batch WHERE event = 'download'",
            [first],
        )
    if stop is not None:
        run("DELETE FROM batch WHERE event = 'stop' AND position < ?", [stop])
        run("UPDATE batch SET position = 0 WHERE event = 'stop'")


def terms_of(problem: Mapping[str, Any]) -> Terms:
    """The terms of a problem as the first version wrote it, which knew no test that asks for squares.

    >>> terms = terms_of({"name": "x", "delta": 0.05, "epsilon": 0.0, "sigma": 0.3,
    ...                   "arm": [{"name": "A"}, {"name": "B"}]})
    >>> terms.arms, terms.fingerprint
    (('A', 'B'), '18566d70caa08ade')
    """
    arms = tuple(arm["name"] for arm in problem["arm"])
    limits, features = None, None
    if "reward_range" in problem:
        low, high = problem["reward_range"]
        limits = (low, high)
    if "features" in problem["arm"][0]:
        features = tuple(tuple(arm["features"]) for arm in problem["arm"])
    sigma = problem["sigma"] if limits is None else limits[1] / 2 - limits[0] / 2
    centre = middle_of(limits)
    letters = fingerprint_of(arms, features, sigma, problem["delta"], problem["epsilon"], limits, centre)
    kind = implied_rewards(limits)
    return Terms(problem["name"], arms, letters, sigma, limits, centre, features=features, rewards=kind)


def _from_fourth(run: Callable[..., Any], seed: str) -> None:
    """Receipts of uploads."""
    for statement in RECEIPTS:
        run(statement)


# From each version to the next; a step that was released never changes.
STEPS: Mapping[int, Callable[[Callable[..., Any], str], None]] = {
    FIRST: _from_first,
    3: _from_third,
    4: _from_fourth,
}
