"""Tokens: only hashes are kept, and a token can expire, be revoked, and never lock everybody out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from stored import create
from uploads import small_problem

from bestarm.errors import Refused, UserError
from bestarm.service.storage import Storage
from bestarm.service.storage.admin import admit
from bestarm.service.storage.rows.tables import metadata
from bestarm.service.storage.rows.tokens import TOKEN, Grant, Role, hash_of


class Time:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def test_a_token_is_kept_as_a_hash_only(storage: Storage) -> None:
    study = create(storage)
    secrets = [
        storage.grant(grant, study, "admin 7f").result()[0]
        for grant in (Grant(Role.AGENT, "lab-a"), Grant(Role.AGENT, "lab-a"), Grant(Role.VIEWER))
    ]
    assert len(set(secrets)) == 3
    for secret in secrets:
        assert TOKEN.fullmatch(secret)
    with storage.engine.connect() as connection:
        everything = "".join(
            str(row) for table in metadata.tables for row in connection.execute(text(f"SELECT * FROM {table}"))
        )
    for secret in secrets:
        assert secret not in everything
        assert hash_of(secret) in everything


def test_a_token_says_what_it_is_for(storage: Storage) -> None:
    study = create(storage)
    secret, shown = storage.grant(Grant(Role.AGENT, "lab-a"), study, "admin 7f").result()
    token = storage.token(hash_of(secret))
    assert token is not None
    assert (token.role, token.study, token.agent) == (Role.AGENT, "ligands", "lab-a")
    assert token.to_json() == shown
    assert storage.token(hash_of("something else")) is None


def test_a_token_expires(opened: Any) -> None:
    clock = Time()
    storage = opened(now=clock)
    secret, _ = storage.grant(Grant(Role.VIEWER, None, 60.0), create(storage), "admin 7f").result()
    token = storage.token(hash_of(secret))
    assert token.valid(clock.now + timedelta(seconds=59))
    assert not token.valid(clock.now + timedelta(seconds=60))


def test_a_revoked_token_is_worthless_everywhere(opened: Any) -> None:
    storage, other = opened(), opened()
    study, elsewhere = create(storage), create(storage, small_problem("other"))
    secret, shown = storage.grant(Grant(Role.AGENT, "lab-a"), study, "admin 7f").result()
    with pytest.raises(Refused, match="there is no token"):
        storage.revoke(shown["id"], elsewhere).result()
    assert other.token(hash_of(secret)).valid(storage.now())
    first = storage.revoke(shown["id"], study).result()
    assert storage.revoke(shown["id"], study).result() == first
    assert not other.token(hash_of(secret)).valid(storage.now())
    assert [token.revoked_at is not None for token in other.tokens(study)] == [True]


def test_the_first_start_makes_one_administrator(opened: Any) -> None:
    storages = [opened(), opened(), opened()]
    made = [storage.admit(None) for storage in storages]
    assert sum(future.result() is not None for future in made) == 1
    assert opened().admit(None).result() is None


def test_the_last_administrator_stays(storage: Storage) -> None:
    storage.admit(None).result()
    _, second = storage.grant(Grant(Role.ADMIN), None, "admin 7f").result()
    first = next(token for token in storage.tokens(None) if token.id != second["id"])
    storage.revoke(first.id, None).result()
    with pytest.raises(Refused) as refusal:
        storage.revoke(second["id"], None).result()
    assert refusal.value.code == "last-admin"
    assert storage.revoke(first.id, None).result().revoked_at is not None


def test_an_admin_token_file_is_written_once_and_then_read(opened: Any, tmp_path: Path) -> None:
    file = tmp_path / "admin-token"
    storage = opened()
    assert admit(storage, file) is None
    secret = file.read_text().strip()
    assert file.stat().st_mode & 0o777 == 0o600
    assert admit(opened(), file) is None
    assert file.read_text().strip() == secret
    assert [token.hash for token in storage.tokens(None)] == [hash_of(secret)]
    assert admit(storage, None) is None


def test_an_admin_token_file_can_bring_its_own(storage: Storage, tmp_path: Path) -> None:
    file = tmp_path / "admin-token"
    file.write_text("a" * 43)
    admit(storage, file)
    found = storage.token(hash_of("a" * 43))
    assert found is not None
    assert found.role is Role.ADMIN
    file.write_text("too-short")
    with pytest.raises(UserError, match="it holds no token"):
        admit(storage, file)
