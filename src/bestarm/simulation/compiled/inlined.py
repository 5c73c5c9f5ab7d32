"""Functions that are compiled only to vanish in others.

numba optimises each function by itself and makes machine code of it, and does so again when it has become a
part of the function that calls it, and again in the one that calls that. Here all that a loop is made of is
translated once, linked together, and then optimised once, as a whole: half of the time. A part has no machine
code of its own and can't be called from Python.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.target_extension import jit_registry, target_registry

# A division by 0 gives what numpy gives, as it does with numpy's numbers where the rules are not compiled. An
# exception that could come from every division keeps loops from being optimised, up to three times slower.
ALIKE = {"forceinline": True, "error_model": "numpy"}


def whole(function: Callable[..., Any], kept: bool) -> Any:
    """A function that Python calls, compiled with all its parts; `kept` says whether the disk keeps it."""
    return numba.njit(cache=kept, nogil=True, no_cfunc_wrapper=True, pipeline_class=Whole, **ALIKE)(function)


def part(function: Callable[..., Any]) -> Any:
    """A function that only compiled functions call."""
    return numba.njit(pipeline_class=Part, **ALIKE)(function)


def _unfinished(library: Any) -> None:
    """What numba does with a library when it is complete: nothing but to remember that it is."""
    library._finalize_dynamic_globals()
    library._finalized = True


def _optimised(library: Any, module: Any) -> None:
    """What numba does with every function of a module, but not with those that are only named there."""
    codegen = library._codegen
    module.data_layout = codegen._data_layout
    for function in module.functions:
        if not function.is_declaration:
            passes, builder = codegen._function_pass_manager()
            passes.run(function, builder)


def _as_part(compiler: Any) -> Any:
    """numba's own passes, whose result goes to a library that is neither optimised nor made into code."""
    state = compiler.state
    state.library = Unfinished(state.targetctx.codegen(), state.func_id.func_qualname)
    state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
    # Compiled callers know a function by the object that Python would call. Any will do that is like no other.
    state.targetctx.get_executable = lambda library, description, environment: [].append
    return [DefaultPassBuilder.define_nopython_pipeline(state)]


def _without_unrolling(library: Any) -> None:
    """numba's optimisations of a whole, but that loops stay loops.

    Unrolled they are half of the code and a fifth of the time of compiling, and hardly any faster.
    """
    codegen, module = library._codegen, library._final_module
    passes, builder = codegen._module_pass_manager(loop_vectorize=False, opt=0, cost="cheap")
    passes.run(module, builder)
    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization, options.slp_vectorization, options.loop_unrolling = True, False, False
    builder = binding.create_pass_builder(codegen._tm, options)
    passes = builder.getModulePassManager()
    passes.add_refprune_pass()  # without it arrays are counted up and down again, a quarter of the time
    passes.run(module, builder)


def _into_rolled(compiler: Any) -> Any:
    """numba's own passes, whose result goes to a library of that kind, which the disk may keep."""
    state = compiler.state
    state.library = Rolled(state.targetctx.codegen(), state.func_id.func_qualname)
    state.library.enable_object_caching()
    return [DefaultPassBuilder.define_nopython_pipeline(state)]


def _as_whole(compiler: Any, function: Callable[..., Any]) -> Any:
    """As numba compiles it, but numpy's functions, which numba has in Python too, are parts as well."""
    with _nothing_thrown_away(), _parts_of_numba(compiler.state.targetctx.codegen()):
        return Compiler.compile_extra(compiler, function)


@contextmanager
def _nothing_thrown_away() -> Iterator[None]:
    """Next to nothing can be thrown away before the end, and to look through it all takes half a second.

    So what is left of a compilation is thrown away when the next one begins; at the end of the process there is
    no need to.
    """
    collecting = gc.isenabled()
    if LEFT:
        gc.collect()
    else:
        atexit.register(gc.freeze)
    LEFT[:] = [True]
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()  # all of it is old now, and no reason to look
        if collecting:
            gc.enable()


LEFT: list[bool] = []  # whether something was compiled before


def _say_mismatch(src_shapes: Any, index_shape: Any) -> None:
    raise ValueError("cannot assign slice from input of different size")


# Functions of numba that are replaced, by name: the sentence that names two shapes is a third of all code.
SHORTER = {"ol_raise_with_shape_context_cpu.<locals>.impl": _say_mismatch}


@contextmanager
def _parts_of_numba(codegen: Any) -> Iterator[None]:
    """numba compiles one function at a time, under a lock: nobody else sees this."""
    processor = target_registry["cpu"]
    usual, codegen._library_class = jit_registry.pop(processor), Unfinished  # also what it makes on the way
    jit_registry[processor] = lambda **options: (
        lambda function: usual(pipeline_class=Part, **options)(SHORTER.get(function.__qualname__, function))
    )
    try:
        yield
    finally:
        del jit_registry[processor]
        jit_registry[processor], codegen._library_class = usual, JITCodeLibrary


# numba's classes have no types; a class statement would be one below `Any`.
Unfinished = type(
    "Unfinished",
    (JITCodeLibrary,),
    {
        "_optimize_functions": _optimised,
        "_optimize_final_module": lambda library: None,
        "_finalize_final_module": _unfinished,
    },
)
Rolled = type("Rolled", (JITCodeLibrary,), {"_optimize_final_module": _without_unrolling})
Part = type("Part", (Compiler,), {"define_pipelines": _as_part})
Whole = type("Whole", (Compiler,), {"compile_extra": _as_whole, "define_pipelines": _into_rolled})
