"""Work spread over local processes, or over a Dask cluster, with the same results."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from bestarm.errors import ServiceError, UserError
from bestarm.methods.registry import functions_of, outside, register
from bestarm.simulation.compiled.reached import globals_of, package_of

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
    theirs = outside()
    far = [function for record in theirs for function in functions_of(record)] if cluster else []
    registered = partial(_registered, pack(theirs, far), work)
    tasks = [delayed(registered)(*piece) for piece in pieces]
    answers = "generator" if ordered else "generator_unordered"
    if cluster is None:
        with parallel_config(backend="loky", initializer=_leave_interrupts_to_the_parent):
            yield from Parallel(n_jobs=jobs, return_as=answers)(tasks)
        return
    with _connected(cluster), parallel_config(backend="dask"):
        yield from Parallel(n_jobs=-1, return_as=answers)(tasks)


def pack(value: Any, far: Iterable[Any] = ()) -> bytes:
    """A value for workers, with functions that they can't import: those of a script or a notebook.

    `far` are functions for workers on other machines: the modules that they come from go along, unless they are
    installed.
    """
    import cloudpickle

    modules = modules_of(far)
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        packed: bytes = cloudpickle.dumps(value)
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    return packed


def modules_of(functions: Iterable[Any]) -> list[ModuleType]:
    """The modules that functions and all that they use come from, and that no package has installed.

    >>> modules_of([pack, len])
    []
    """
    found: dict[str, ModuleType] = {}
    seen, waiting = set[int](), list(functions)
    while waiting:
        thing = waiting.pop()
        name = thing.__name__ if isinstance(thing, ModuleType) else getattr(thing, "__module__", None)
        module = sys.modules.get(str(name))
        if id(thing) in seen or module is None or (name != "__main__" and not _is_local(module)):
            continue
        seen.add(id(thing))
        if name != "__main__":  # which goes along by itself
            found[module.__name__] = module
        if isinstance(thing, FunctionType):
            used = globals_of(thing.__code__) & thing.__globals__.keys()
            waiting += [thing.__globals__[key] for key in used]
            waiting += [cell.cell_contents for cell in thing.__closure__ or ()]
        elif isinstance(thing, ModuleType):
            waiting += vars(thing).values()
    return list(found.values())


def _is_local(module: ModuleType) -> bool:
    """Whether a module is a file of the user's own."""
    file = getattr(module, "__file__", None)
    installed = {"site-packages", "dist-packages", Path(os.__file__).parent.name}
    return bool(file) and package_of(module) != "bestarm" and not installed & set(Path(str(file)).parts)


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
        except ModuleNotFoundError as error:
            raise UserError(
                f"the workers of the cluster can't import {error.name!r}; install it there."
            ) from None
        except (OSError, CancelledError):
            raise ServiceError(f"the connection to the Dask scheduler at {cluster} was lost.") from None
