"""What this package uses of numba beyond what numba documents.

No other file imports private names of numba; pyproject.toml bounds the version to those that were tried. Two things can
be done without:

- compilers that skip what is of no use to kernels (lean_compilers.py, frontend.py). Where they do not work, or lack one
  of the names that are imported for them, numba's own ones take their place, and a warning says so: the results are the
  same, compilation takes twice as long;
- object code, which is kept on the disk. Where a library does not give it, each process compiles again.

What cannot be done without is imported here by name: if it is missing, an ImportError says which versions do not go
together.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numba

try:
    from numba.core import cgutils, event
    from numba.core.caching import _Cache as CodeCache
    from numba.core.ccallback import CFunc
    from numba.core.compiler import Compiler, CompileResult
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.errors import NumbaError
    from numba.core.imputils import impl_ret_borrowed, lower_getattr
    from numba.core.registry import cpu_target
    from numba.core.runtime import rtsys
    from numba.core.serialize import dumps
    from numba.core.typeconv import Conversion
    from numba.core.typing import signature
    from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global
    from numba.np.arrayobj import fix_integer_index, populate_array
except ImportError as error:
    raise ImportError(
        f"merganser cannot compile with numba {numba.__version__} (Python {sys.version.split()[0]}): {error}. Install "
        "numba 0.68, or set the environment variable NUMBA_DISABLE_JIT=1 for plain Python, which is slow."
    ) from error

with contextlib.suppress(ImportError):  # what only our own compilers use, see _own_compilers
    from numba import _dynfunc  # type: ignore[attr-defined]  # written in C, without types
    from numba.core import ir
    from numba.core.cgutils import alloca_once, do_boundscheck, get_item_pointer2, unpack_tuple
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Flags
    from numba.core.imputils import builtin_registry
    from numba.core.ir_utils import build_definitions, find_const, get_definition, guard
    from numba.core.lowering import Lower
    from numba.core.rewrites import rewrite_registry
    from numba.core.ssa import reconstruct_ssa
    from numba.core.targetconfig import ConfigStack
    from numba.core.transforms import canonicalize_cfg
    from numba.core.typed_passes import (
        InlineOverloads,
        NativeLowering,
        NoPythonBackend,
        NopythonTypeInference,
        PreLowerStripPhis,
    )
    from numba.core.typing.context import Context
    from numba.core.untyped_passes import FixupArgs, TranslateByteCode
    from numba.np.arrayobj import load_item, make_array, make_view, store_item


def call_at(
    context: Any, builder: Any, address: Any, restype: Any, argtypes: Any, arguments: Any
) -> tuple[Any, Any]:
    """Writes the call of the kernel at an address, as one compiled function of numba's calls another.

    Args:
        context: numba's, of the function that calls.
        builder: writes into that function.
        address: of the kernel, as an integer.
        restype: what the kernel returns.
        argtypes: types of its arguments.
        arguments: these.

    Returns:
        Whether the kernel has left an array, where it looks at its indices, and what it returns.
    """
    convention = context.call_conv
    function = builder.inttoptr(address, convention.get_function_type(restype, argtypes).as_pointer())
    status, result = convention.call_function(builder, function, restype, argtypes, arguments)
    return status.is_error, result


def call_from_kernel(
    context: Any, builder: Any, address: Any, restype: Any, argtypes: Any, arguments: Any
) -> Any:
    """Writes such a call in a kernel, and gives its result; an index that is out of bounds ends the caller, too."""
    has_left, result = call_at(context, builder, address, restype, argtypes, arguments)
    if getattr(numba.config, "BOUNDSCHECK", None):
        raise_where(context, builder, has_left, IndexError("index is out of bounds"))
    return result


def raise_where(context: Any, builder: Any, condition: Any, error: Exception) -> None:
    """Writes that the calling function raises an exception where a condition is true."""
    with cgutils.if_unlikely(builder, condition):
        context.call_conv.return_user_exc(builder, type(error), error.args)


def ended_message(name: str) -> str:
    """What is said of a kernel that an exception has ended; which one is unknown to compiled code."""
    return f"{name}() was ended by an exception, such as an index that is out of bounds."


# ------------------------------------------------------------------ compilers


def compiler_of(kind: str) -> Any:
    """What numba takes as `pipeline_class`: a compiler of "kernel", "operation" or "helper", chosen at each use."""

    def make(*arguments: Any) -> Any:
        own = _own_compilers()
        return (Compiler if own is None else own[kind])(*arguments)

    return make


_own: dict[str, Any] = {}  # our compilers, by kind; None where they do not work


def _own_compilers() -> Any:
    if "compilers" not in _own:
        try:
            own = importlib.import_module("merganser.framework.native.compiler.lean_compilers")
            kinds = {"kernel": own.KernelCompiler, "operation": own.OperationCompiler, "helper": own.HelperCompiler}
            _own["compilers"] = kinds
        except (ImportError, AttributeError, TypeError) as error:
            _leave_own_compilers(error)
    return _own["compilers"]


def _leave_own_compilers(error: Exception) -> None:
    _own["compilers"] = None
    warnings.warn(
        f"The inside of numba {numba.__version__} is not as expected ({type(error).__name__}: {error}): compilation "
        "takes longer, and nothing is kept on the disk.",
        RuntimeWarning,
        stacklevel=2,
    )


def _with_what_works(work: Callable[[], Any]) -> Any:
    """Compiles with our compilers; if these fail for another reason than the code, with numba's, from now on."""
    if _own_compilers() is None:
        return work()
    try:
        return work()
    except (AttributeError, AssertionError, ImportError, NotImplementedError, TypeError) as error:
        if isinstance(error, NumbaError):
            raise
        _leave_own_compilers(error)
        return work()


def compiled_kernel(dispatcher: Any, argtypes: tuple[Any, ...]) -> tuple[Any, str, Any]:
    """Compiles what `numba.njit` has made of a function, for arguments of these types.

    Returns:
        The library, the function's name in it, and the type of what it returns.
    """
    _with_what_works(lambda: dispatcher.compile(argtypes))
    result = dispatcher.overloads[argtypes]
    kind = numba.types.unliteral(result.signature.return_type)  # that of 0 is Literal[int](0), which is an int64
    return result.library, result.fndesc.llvm_func_name, kind


def compiled_operation(function: Callable[..., Any], kind: Any, options: dict[str, Any]) -> tuple[Any, str]:
    """Compiles a function that is called as C does; gives the library, and the function's name in it."""

    def compile_() -> Any:
        made: Any = CFunc(function, kind, {}, dict(options), pipeline_class=compiler_of("operation"))
        made.compile()
        return made

    compiled = _with_what_works(compile_)
    return compiled._library, compiled.native_name


@global_compiler_lock
def object_code(library: Any, symbol: str) -> tuple[int, tuple[bytes, tuple[str, ...]] | None]:
    """Makes machine code of a library.

    Returns:
        The address of a function in it, and the object code with the names that it may refer to; None in place of these
        where there is no such code, or where it has addresses in it that are others in the next process.
    """
    if not getattr(library, "_finalized", True):
        library.enable_object_caching()
        library.finalize()
    address: int = library.get_pointer_to_function(symbol)
    if library.has_dynamic_globals:
        return address, None
    try:
        (content, _) = library.serialize_using_object_code()[2]
        module = library._final_module
    except (AttributeError, RuntimeError, TypeError, ValueError):  # numba's own compilers keep none
        return address, None
    declared = (*module.functions, *module.global_variables)
    needed = tuple(each.name for each in declared if each.is_declaration and not each.name.startswith("llvm."))
    return address, (content, needed)
