"""How the report looks, and the hash that lets the dashboard open it under its own strict policy."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

STYLE = (Path(__file__).parent / "report.css").read_text(encoding="utf-8")
HASH = f"'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'"
POLICY = f"default-src 'none'; style-src {HASH}"
