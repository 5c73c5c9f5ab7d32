"""Eight prompts on shared documents, two graders of different severity, with a real server: python items.py

Every document is given to all prompts that are still in the race, by the same grader. How hard a document is,
and how severe its grader, is then the same for all of them and cancels. The grader is a stand-in without
chance: it gives the same answer to the same question every time.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import bestarm

BESTARM = [sys.executable, "-m", "bestarm.cli.main"]
PROMPTS = {  # what nobody knows: how good each is, on average over documents
    "Summarise.": 0.35,
    "Summarise in three sentences.": 0.50,
    "Summarise for a manager.": 0.42,
    "List the facts, then summarise.": 0.62,
    "Think step by step, then summarise.": 0.55,
    "Summarise without adjectives.": 0.40,
    "Summarise as a newspaper would.": 0.45,
    "Translate to plain words, then summarise.": 0.52,
}
DOCUMENTS = {f"report-{k:03}": f"the text of report {k}" for k in range(400)}
SEVERITY = {"strict": -0.15, "mild": 0.10}


def by_chance(*words: str) -> float:
    """A number from −0.5 to 0.5 that these words alone decide."""
    return int(hashlib.sha256("/".join(words).encode()).hexdigest()[:8], 16) / 0xFFFFFFFF - 0.5


def grade(prompt: str, document: str, grader: str) -> float:
    """A score from 0 to 1: the prompt, the document, what the one does to the other, and the grader."""
    score = PROMPTS[prompt] + 0.5 * by_chance(document) + 0.2 * by_chance(prompt, document) + SEVERITY[grader]
    return min(max(score, 0.0), 1.0)


def call(*words: str, **environment: str) -> Any:
    """A bestarm command's answer."""
    command = [*BESTARM, *words, "--format", "json"]
    done = subprocess.run(command, env={**os.environ, **environment}, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def study(url: str, admin: str, folder: Path, items: bool) -> int:
    """A whole study with or without items; how many answers were graded."""
    access, name = {"BESTARM_URL": url, "BESTARM_TOKEN": admin}, "with-items" if items else "without"
    said = f"reward_range = [0, 1]\nitems = {str(items).lower()}\narms = {json.dumps(list(PROMPTS))}\n"
    (folder / f"{name}.toml").write_text(f'name = "{name}"\n{said}')
    call("study", "create", str(folder / f"{name}.toml"), "--agents", "2", **access)
    labs, number = {}, 0
    for grader in SEVERITY:
        token = call("token", "create", "--study", name, "--agent", grader, **access)["token"]
        shared = {"items": DOCUMENTS} if items else {}
        labs[grader] = bestarm.connect(url, token=token, journal=folder / f"{grader}-{name}.db", **shared)
    while not all(lab.finished for lab in labs.values()):
        for grader, lab in labs.items():
            for trial in lab.ask(24, wait=10):
                document = trial.item if items else f"report-{number % len(DOCUMENTS):03}"
                number += 1
                lab.tell(trial, grade(trial.arm, DOCUMENTS[document], grader))
    verdict = labs["mild"].verdict
    for lab in labs.values():
        lab.close()
    print(f"{name}: {verdict.arm!r} is best, after {verdict.samples:,} graded answers.")
    return verdict.samples


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        admin = folder / "admin-token"
        storage = f"sqlite:///{folder / 'prompts.db'}"
        options = ["--port", "0", "--storage", storage, "--admin-token-file", str(admin)]
        with subprocess.Popen([*BESTARM, "serve", *options], stdout=subprocess.PIPE, text=True) as server:
            try:
                url = server.stdout.readline().removeprefix("listening on ").strip()
                on, off = (study(url, admin.read_text().strip(), folder, items) for items in (True, False))
                print(f"The same documents for all prompts: {off / on:.1f} times fewer answers to grade.")
            finally:
                server.send_signal(signal.SIGTERM)


if __name__ == "__main__":
    main()
