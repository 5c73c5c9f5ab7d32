"""Writes down what bestarm needs: every package with its version, its licence and what it needs in turn.

    python scripts/bill_of_materials.py dist     # dist/bestarm-0.2.0.cdx.json, CycloneDX 1.5 in JSON

It lists what is installed here, for all extras but the developers'; the package carries no files of others. A
package that bestarm needs without extras has the scope `required`, the others `optional`.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NAME = "bestarm"
ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OPTIONAL = PROJECT["optional-dependencies"]
LEFT_OUT = {"dev", "docs"}  # nobody who installs bestarm gets these


def needs(name: str, extras: Iterable[str]) -> dict[str, set[str]]:
    """What an installed package needs here, with these extras: each package, and its own extras."""
    if name == NAME:
        texts = [*PROJECT["dependencies"], *(text for extra in extras for text in OPTIONAL[extra])]
    else:
        texts = metadata.requires(name) or []
    found: dict[str, set[str]] = {}
    for requirement in map(Requirement, texts):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            found.setdefault(canonicalize_name(requirement.name), set()).update(requirement.extras)
    return found


def closure(extras: Iterable[str]) -> dict[str, set[str]]:
    """All packages that bestarm needs with these extras, bestarm among them, and what each needs itself."""
    asked: dict[str, set[str]] = {}
    graph: dict[str, set[str]] = {}
    waiting = [(NAME, set(extras))]
    while waiting:
        name, wanted = waiting.pop()
        if name in asked and wanted <= asked[name]:
            continue
        asked[name] = asked.get(name, set()) | wanted
        below = needs(name, asked[name])
        graph[name] = set(below) - {name}
        waiting += below.items()
    return graph


def licence(about: metadata.PackageMetadata) -> list[dict[str, Any]]:
    """What a package says of its licence: an expression, the classifiers, or the text of a field."""
    if expression := about.get("License-Expression"):
        return [{"expression": expression}]
    classified = [
        entry.rpartition(" :: ")[2]
        for entry in about.get_all("Classifier", [])
        if entry.startswith("License :: ") and entry.count(" :: ") > 1
    ]
    said = classified or [about.get("License", "").strip().partition("\n")[0]]
    return [{"license": {"name": name}} for name in said if name]


def reference(name: str) -> str:
    """How the list speaks of a package."""
    return f"pkg:pypi/{name}@{metadata.version(name)}"


def component(name: str, required: bool) -> dict[str, Any]:
    """A package of the list."""
    return {
        "type": "library",
        "bom-ref": reference(name),
        "name": name,
        "version": metadata.version(name),
        "scope": "required" if required else "optional",
        "licenses": licence(metadata.metadata(name)),
        "purl": reference(name),
    }


def bill() -> dict[str, Any]:
    """The whole list."""
    required, graph = closure(()), closure(OPTIONAL.keys() - LEFT_OUT)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(NAME, True) | {"type": "application"}},
        "components": [component(name, name in required) for name in sorted(graph) if name != NAME],
        "dependencies": [
            {"ref": reference(name), "dependsOn": sorted(map(reference, graph[name]))} for name in sorted(graph)
        ],
    }


def main(folder: str) -> None:
    """Write the list into a folder."""
    path = Path(folder) / f"{NAME}-{metadata.version(NAME)}.cdx.json"
    path.write_text(json.dumps(bill(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{path}: {len(bill()['components'])} packages.")


if __name__ == "__main__":
    main(*sys.argv[1:])
