"""What is said about the project beside its pages is readable and agrees with the package."""

from __future__ import annotations

import yaml
from documents import ROOT

from bestarm import __version__


def test_the_citation_names_this_version_and_the_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == __version__
    (paper,) = citation["references"]
    assert paper["title"] == "Pure Exploration in Asynchronous Federated Bandits"
    assert [author["family-names"] for author in paper["authors"]] == [
        "Wang",
        "Li",
        "Song",
        "Wang",
        "Gu",
        "Wang",
    ]


def test_issue_templates_have_a_readable_head() -> None:
    templates = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md"))
    assert [template.name for template in templates] == ["bug.md", "idea.md"]
    for template in templates:
        _, head, body = template.read_text(encoding="utf-8").split("---\n", 2)
        assert {"name", "about", "labels"} <= set(yaml.safe_load(head))
        assert body.strip()
