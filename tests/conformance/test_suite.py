"""The suite that ships with the package, on every storage; and that it notices a storage that forgets."""

from __future__ import annotations

from typing import Any

import pytest

from bestarm.service.storage import Storage
from bestarm.testing import check_storage


def test_every_law_holds(opened: Any) -> None:
    check_storage(opened)


def test_a_storage_that_forgets_uploads_is_noticed(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    take = Storage.take
    first: dict[int, Any] = {}

    def forgetful(self: Storage, study: Any, upload: Any) -> Any:
        kept = first.setdefault(study.id, upload)
        return take(self, study, upload if upload.sequence < 3 else kept)

    monkeypatch.setattr(Storage, "take", forgetful)
    with pytest.raises(AssertionError, match="12 were sent, 4 are there"):
        check_storage(opened)
