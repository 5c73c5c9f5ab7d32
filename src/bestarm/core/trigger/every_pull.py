"""One pull, then an upload."""

from __future__ import annotations

from bestarm.core.breaking import Reading
from bestarm.core.rules import Trigger
from bestarm.core.setting import Setting
from bestarm.core.state import View


def every_pull(view: View, reading: Reading, arm: int, setting: Setting) -> int:
    """One pull: the single-agent methods know every reward at once."""
    return 1


EVERY_PULL = Trigger("every-pull", "an upload after every pull", every_pull)
