"""What the server knows about itself and its studies, in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bestarm.service.http.service import Service
from bestarm.service.storage.study.overview import Overview


def metrics(
    service: Service,
    studies: tuple[Iterable[Overview], int] | None,
    untold: Mapping[tuple[int, bool], int] | None = None,
) -> str:
    """All samples, each family with its help and its type; `studies` is None if the storage is away.

    `untold` is how many news of each study wait to be told, or were given up.
    """
    storage, limits = service.storage, service.limits
    counters = storage.counters
    requests = {
        f'route="{_escape(route)}",status="{status}"': count
        for (route, status), count in sorted(counters.requests.items())
    }
    refused = {f'kind="{_escape(kind)}"': count for kind, count in sorted(service.notes.counts.items())}
    lines = [
        *_family("storage_up", "gauge", "1 when the storage answers.", {"": int(studies is not None)}),
        *_family("requests_total", "counter", "Requests answered, by route and status.", requests),
        *_family("refused_total", "counter", "Requests and connections refused, by kind.", refused),
        *_family("commits_total", "counter", "Transactions committed.", {"": counters.commits}),
        *_family(
            "commit_tasks_total", "counter", "Requests that those transactions held.", {"": counters.tasks}
        ),
        *_family("commit_seconds_total", "counter", "Time spent in them.", {"": counters.commit_seconds}),
        *_family("waiting", "gauge", "Requests that wait for the next transaction.", {"": storage.waiting}),
        *_family("loading", "gauge", "Studies that are being read from their logs.", {"": storage.loading}),
        *_family("connections", "gauge", "Connections that are open.", {"": len(service.door.inside)}),
        *_family("connections_limit", "gauge", "Connections that may be open.", {"": limits.connections}),
        *_family("streams", "gauge", "Event streams that are open.", {"": service.streams.under_way}),
        *_family("exports", "gauge", "Exports under way.", {"": service.exports.under_way}),
    ]
    if service.files:
        lines += _family("files_limit", "gauge", "Files that the process may open.", {"": service.files})
    if studies is None:
        return "\n".join(lines) + "\n"
    overviews, damaged = studies
    lines += _family("damaged", "gauge", "Studies whose log can't be served.", {"": damaged})
    of = {f'study="{_escape(overview.study.name)}"': overview for overview in overviews}
    lines += _family("uploads_total", "counter", "Uploads in a log.", {k: s.uploads for k, s in of.items()})
    lines += _family("samples_total", "counter", "Pulls in a log.", {k: s.total.samples for k, s in of.items()})
    lines += _family(
        "communications_total",
        "counter",
        "Uploads and downloads.",
        {k: s.communications for k, s in of.items()},
    )
    lines += _family(
        "evidence",
        "gauge",
        "Evidence for the leader; a study stops at 1.",
        {k: s.verdict.evidence for k, s in of.items()},
    )
    lines += _family(
        "stopped",
        "gauge",
        "1 when the best arm is known.",
        {k: int(s.stopped_at is not None) for k, s in of.items()},
    )
    lines += _family(
        "closed", "gauge", "1 when a study takes no uploads.", {k: int(s.closed) for k, s in of.items()}
    )
    waiting = {
        f'{labels},state="{state}"': (untold or {}).get((overview.study.id, given_up), 0)
        for labels, overview in of.items()
        for state, given_up in (("waiting", False), ("given-up", True))
    }
    lines += _family("news", "gauge", "Webhooks and mails that were not delivered.", waiting)
    return "\n".join(lines) + "\n"


def _family(name: str, kind: str, text: str, samples: dict[str, int] | dict[str, float]) -> list[str]:
    full = f"bestarm_{name}"
    values = [
        f"{full}{{{labels}}} {value}" if labels else f"{full} {value}" for labels, value in samples.items()
    ]
    return [f"# HELP {full} {text}", f"# TYPE {full} {kind}", *values]


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
