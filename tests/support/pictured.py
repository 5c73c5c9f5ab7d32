"""Pictures of what a page of the documentation has led to, made in Chromium while its blocks are run.

With BESTARM_PICTURES they go to docs/images, where the page shows them; else they are made and thrown away.
"""

from __future__ import annotations

import os
from pathlib import Path

from browsing import browsing

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SMALLEST = 20_000  # bytes: a blank page has fewer


def picture(page: str, name: str, height: int = 1100) -> None:
    """Take a picture of a file in this folder, the upper part of it."""
    folder = IMAGES if os.environ.get("BESTARM_PICTURES") else Path.cwd()
    target = folder / f"{name}.png"
    with browsing() as browser:
        opened = browser.new_page(viewport={"width": 960, "height": height}, color_scheme="light")
        opened.goto(Path(page).resolve().as_uri())
        fits = "[...document.querySelectorAll('.wide')].every((one) => one.scrollWidth <= one.clientWidth)"
        assert opened.evaluate(fits), "a table is cut off"
        opened.screenshot(path=target)
    assert target.stat().st_size > SMALLEST
