"""A PostgreSQL server of the tests' own: in a temporary folder, as an unprivileged user, on a unix socket."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

SUPERUSER = "tester"
FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin")


class Postgres:
    """A running server, which makes databases."""

    def __init__(self, folder: Path, command: list[str], options: dict[str, Any]) -> None:
        self.folder = folder
        self._command, self._options = command, options
        self._numbers = itertools.count(1)
        self.start()

    def start(self) -> None:
        """Until it takes connections."""
        self.process = subprocess.Popen(self._command, **self._options)
        wait_for(self, self.process)

    def stop(self, how: int = signal.SIGINT) -> None:
        """Cut everybody off, and end in good order; with SIGQUIT at once."""
        self.process.send_signal(how)
        self.process.wait(timeout=20)

    def database(self) -> str:
        """The storage URL of a new, empty database."""
        name = f"test{next(self._numbers)}"
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql+psycopg://{SUPERUSER}@/{name}?host={self.folder}"

    def address(self, database: str) -> str:
        """What psycopg connects to."""
        return f"host={self.folder} user={SUPERUSER} dbname={database}"


@contextmanager
def postgres(*, durable: bool) -> Iterator[Postgres]:
    """Start a server, and stop and remove it. Without `durable` it does not wait for the disk."""
    programs = find_programs()
    folder = Path(tempfile.mkdtemp(prefix="bestarm-pg-"))
    data = folder / "data"
    owner = unprivileged()
    options: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    if owner is not None:
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        options |= {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    words = ["-D", str(data), "-A", "trust", "-U", SUPERUSER, "-E", "UTF8", "--locale=C", "-N"]
    subprocess.run([str(programs / "initdb"), *words], check=True, **options)
    settings = {"listen_addresses": "", "unix_socket_directories": str(folder), "max_connections": "200"}
    if not durable:
        settings |= {"fsync": "off", "full_page_writes": "off"}
    words = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
    server: Postgres | None = None
    try:
        server = Postgres(folder, [str(programs / "postgres"), "-D", str(data), *words], options)
        yield server
    finally:
        if server is not None:
            server.stop(signal.SIGQUIT)  # nobody needs the data any more
        shutil.rmtree(folder)


def wait_for(server: Postgres, process: subprocess.Popen[bytes]) -> None:
    """Until the server takes connections."""
    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(server.address("postgres")).close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def find_programs() -> Path:
    """The folder with initdb and postgres, of the newest version."""
    found = [path for pattern in FOLDERS for path in Path("/").glob(pattern[1:]) if (path / "initdb").exists()]
    if not found and (on_path := shutil.which("initdb")):
        found = [Path(on_path).resolve().parent]
    if not found:
        raise RuntimeError("PostgreSQL's initdb is not there; run scripts/install-test-tools.sh.")
    return max(found, key=lambda path: [int(word) for word in str(path).split("/") if word.isdigit()])


def unprivileged() -> pwd.struct_passwd | None:
    """Whom to run PostgreSQL as, which refuses to run as root; None is ourselves."""
    if os.geteuid() != 0:
        return None
    users = {user.pw_name: user for user in pwd.getpwall()}
    return users.get("postgres") or users["nobody"]
