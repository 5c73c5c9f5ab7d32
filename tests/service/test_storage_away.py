"""A database that goes away under a server: it is alive, says that it is not ready, and goes on counting."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import httpx
from postgres import postgres
from serving import serving


def test_a_server_without_its_database_says_so(tmp_path: Path) -> None:
    with ExitStack() as stack:
        cluster = stack.enter_context(ExitStack())
        url = cluster.enter_context(postgres(durable=False)).database()
        server = stack.enter_context(serving("--storage", url, folder=tmp_path))
        headers = {"Authorization": f"Bearer {server.admin_token}"}
        client = stack.enter_context(httpx.Client(base_url=server.url, headers=headers, timeout=10))
        assert client.get("/readyz").json()["status"] == "ready"
        assert "bestarm_storage_up 1\n" in client.get("/metrics").text
        cluster.close()
        assert client.get("/healthz").json()["status"] == "ok"
        while client.get("/readyz").status_code == 200:
            pass
        assert client.get("/readyz").json()["code"] == "not-ready"
        metrics = client.get("/metrics")
        assert metrics.status_code == 200
        assert "bestarm_storage_up 0\n" in metrics.text
        assert "bestarm_requests_total" in metrics.text
        assert client.get("/v1/studies").status_code == 503
        for _ in range(10):
            strange = client.get("/metrics", headers={"Authorization": "Bearer " + "x" * 43})
            assert strange.status_code in (401, 503)
        assert (tmp_path / "stderr").read_text().count("the storage failed") == 1
