"""Work spread over local processes, or over a Dask cluster, with the same results."""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any, TypeVar

from bestarm.errors import ServiceError, UserError
from bestarm.methods.registry import outside, register

CONNECT_SECONDS = 10

Answer = TypeVar("Answer")


def spread_over_workers(
    work: Callable[..., Answer],
    pieces: Sequence[tuple[Any, ...]],
    jobs: int,
    cluster: str | None,
    ordered: bool = True,
) -> Iterator[Answer]:
    """`work(*piece)` for each piece, as the answers come in: joblib here, or on a Dask scheduler.

    With `ordered` in the order of the pieces, otherwise in the order in which they are finished. What is
    registered here is registered there.
    """
    try:
        from joblib import Parallel, delayed, parallel_config
    except ImportError:
        raise UserError('several jobs need joblib: pip install "bestarm[simulate]".') from None
    registered = partial(_registered, pack(outside()), work)
    tasks = [delayed(registered)(*piece) for piece in pieces]
    answers = "generator" if ordered else "generator_unordered"
    if cluster is None:
        with parallel_config(backend="loky", initializer=_leave_interrupts_to_the_parent):
            yield from Parallel(n_jobs=jobs, return_as=answers)(tasks)
        return
    with _connected(cluster), parallel_config(backend="dask"):
        yield from Parallel(n_jobs=-1, return_as=answers)(tasks)


def pack(value: Any) -> bytes:
    """A value for workers, with functions that they can't import."""
    import cloudpickle

    packed: bytes = cloudpickle.dumps(value)
    return packed


@lru_cache(maxsize=16)
def unpack(packed: bytes) -> Any:
    """The value again; once in a process, so that what is compiled for it is compiled once."""
    return pickle.loads(packed)


def _registered(packed: bytes, work: Callable[..., Answer], *piece: Any) -> Answer:
    register(*unpack(packed))
    return work(*piece)


def _leave_interrupts_to_the_parent() -> None:
    """Ctrl-C reaches every process of a terminal; only the one that started the work answers it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _connected(cluster: str) -> Iterator[None]:
    try:
        from distributed import Client
    except ImportError:
        raise UserError('a cluster needs Dask: pip install "bestarm[cluster]".') from None
    try:
        client = Client(cluster, timeout=CONNECT_SECONDS)
    except ValueError as error:
        raise UserError(f"cluster is {cluster!r}; it must look like tcp://host:8786 ({error}).") from None
    except OSError:
        raise ServiceError(f"no Dask scheduler answers at {cluster}; is it running there?") from None
    with client:
        try:
            yield
        except (OSError, CancelledError):
            raise ServiceError(f"the connection to the Dask scheduler at {cluster} was lost.") from None
