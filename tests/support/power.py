"""Power cuts: what was not synced to the disk is gone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("unsynced.c")


def forgetful_disk(folder: Path) -> dict[str, str]:
    """The environment of processes whose files can be cut back to what they have synced."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("there is no C compiler; run scripts/install-test-tools.sh.")
    library = folder / "unsynced.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library)}


def cut_power(folder: Path, endings: tuple[str, ...]) -> int:
    """Leave of the files with these endings what was synced; how many bytes of them changed.

    Nobody may have them open any more.
    """
    lost = 0
    for path in [path for path in folder.iterdir() if path.name.endswith(endings)]:
        synced = path.with_name(f"{path.name}.synced")
        before = path.read_bytes()
        after = synced.read_bytes() if synced.exists() else b""
        lost += max(len(before), len(after)) if before != after else 0
        if synced.exists():
            shutil.copyfile(synced, path)
        else:
            path.unlink()
    for index in folder.glob("*-shm"):
        index.unlink()
    return lost
