"""A certificate for this machine's own address, made for one test."""

from __future__ import annotations

import subprocess
from pathlib import Path


def certificate(folder: Path) -> tuple[Path, tuple[str, ...]]:
    """Its file, to trust it, and the options with which a server uses it."""
    key, file = folder / "key.pem", folder / "cert.pem"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(file)]
    subprocess.run(["openssl", *words], check=True, capture_output=True)
    return file, ("--ssl-certfile", str(file), "--ssl-keyfile", str(key))
