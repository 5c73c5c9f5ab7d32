"""The dashboard's files: small, complete, and without anything from elsewhere."""

from __future__ import annotations

import re

from bestarm.service.http.app import DASHBOARD

OWN = [path for path in sorted(DASHBOARD.rglob("*")) if path.is_file()]
NAMES = ("http://www.w3.org/2000/svg", "http://schemas.openxmlformats.org/")  # kinds of XML, no addresses
LIMIT = 220_000  # bytes, uncompressed
FORBIDDEN = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
    "new Function",
    "localhost",
]


def test_all_of_it_is_small() -> None:
    assert sum(path.stat().st_size for path in DASHBOARD.rglob("*") if path.is_file()) < LIMIT


def test_nothing_comes_from_elsewhere_and_nothing_parses_markup() -> None:
    for path in OWN:
        text = path.read_text()
        for name in NAMES:
            text = text.replace(name, "")
        assert "://" not in text, path.name
        for word in FORBIDDEN:
            assert word not in text, (path.name, word)


def test_what_is_imported_is_there_and_what_is_there_is_used() -> None:
    scripts = {path: path.read_text() for path in OWN if path.suffix == ".js"}
    page = (DASHBOARD / "index.html").read_text()
    named = {DASHBOARD / name for name in re.findall(r'(?:src|href)="([a-z_.0-9/-]+\.[a-z]+)"', page)}
    for path, text in scripts.items():
        found = re.findall(r'(?:from|import) ?\(?"(\.[a-z_./]+\.js)"', text)
        named |= {DASHBOARD / name for name in re.findall(r'register\("([a-z]+\.js)"\)', text)}
        named |= {(path.parent / name).resolve() for name in found}
    assert all(path.is_file() for path in named)
    assert set(scripts) <= named
    assert "style=" not in page
    assert "onclick" not in page
