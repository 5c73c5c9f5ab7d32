"""Work spread over local processes, or over a Dask cluster, with the same results in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from bestarm.errors import UserError

Answer = TypeVar("Answer")


def spread_over_workers(
    work: Callable[..., Answer], pieces: Sequence[tuple[Any, ...]], jobs: int, cluster: str | None
) -> Iterator[Answer]:
    """`work(*piece)` for each piece, in order, as the answers come in: joblib here, or on a Dask scheduler."""
    try:
        from joblib import Parallel, delayed, parallel_config
    except ImportError:
        raise UserError('several jobs need joblib: pip install "bestarm[simulate]".') from None
    tasks = [delayed(work)(*piece) for piece in pieces]
    if cluster is None:
        yield from Parallel(n_jobs=jobs, return_as="generator")(tasks)
        return
    try:
        from distributed import Client
    except ImportError:
        raise UserError('a cluster needs Dask: pip install "bestarm[cluster]".') from None
    with Client(cluster), parallel_config(backend="dask"):
        yield from Parallel(return_as="generator")(tasks)
