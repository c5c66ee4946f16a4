"""How numba compiles kernels and their helpers, in half the time.

Left to itself numba optimizes a helper along with all that it calls and makes machine code of it that is never called:
the kernel takes the helper into its own code, where it is optimized again. What stands at the end of a chain of calls
is compiled once a link. Here a helper goes no further than code that LLVM links into kernels, by itself, and nothing is
done twice in order to take out counts of references, which do not exist here.

Nor is a helper compiled again because one function that calls it is a kernel, another is a helper, and a third is
inlined: numba keeps what it has compiled by the options of the caller, which are the same here for all three.

What is done to a function until LLVM gets it is in frontend.py.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from llvmlite.binding import Linkage
from numba import config

from merganser.framework.common.garbage import garbage_waits
from merganser.framework.native.compiler.code_files import package_of
from merganser.framework.native.compiler.frontend import compile_function
from merganser.framework.native.compiler.numba_inside import Compiler, ConfigStack, Flags, JITCodeLibrary, _dynfunc

# Options that say what is made of a function, and nothing about those that it calls.
_OWN_OPTIONS = ("boundscheck", "forceinline", "no_cfunc_wrapper", "no_cpython_wrapper", "release_gil")


class KernelCompiler(Compiler):
    """Numba's compiler, but for the options that the callees see."""

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Any, variables: Any
    ) -> None:
        super().__init__(typingctx, targetctx, library, args, return_type, _OwnFlags(flags), variables)

    def compile_extra(self, func: Any) -> Any:
        with garbage_waits():  # a tenth of the whole time
            self._make_library(func.__qualname__)
            return super().compile_extra(func)

    def _compile_core(self) -> Any:
        flags = self.state.flags
        if flags.nrt or not package_of(self.state.func_id.func):  # it may be a user's, with all that numba knows
            return super()._compile_core()
        with ConfigStack().enter(flags.copy()):
            return compile_function(self.state)

    def _make_library(self, name: str) -> None:
        context = self.state.targetctx  # a copy of the context, for this function only
        kind = _CountingLibrary if self.state.flags.nrt else _KernelLibrary
        self.state.library = kind(context.codegen(), name)
        self.state.library.enable_object_caching()
        context.get_executable = _identity_of


class OperationCompiler(KernelCompiler):
    """Compiles functions that are called as C does, by their addresses."""

    def _make_library(self, name: str) -> None:
        super()._make_library(name)
        if not getattr(config, "BOUNDSCHECK", None):
            context = self.state.targetctx
            context.create_cfunc_wrapper = functools.partial(_add_form_for_c, context)


class HelperCompiler(KernelCompiler):
    """Compiles a helper up to the code that its callers take in, without machine code of its own."""

    def _make_library(self, name: str) -> None:
        context = self.state.targetctx
        self.state.library = _HelperLibrary(context.codegen(), name)
        context.get_executable = _identity_of


class _KernelLibrary(JITCodeLibrary):
    """The code of a kernel, which has its helpers for itself: one that is called at one place only is inlined.

    They are private, not internal: LLVM's linker knows internal functions by their names, and would take one, whose
    arguments it has changed, for the helper of the same name of something that is compiled later.

    Attributes:
        bitcode: the optimized code for any machine; what makes machine code of it changes it for this one.
    """

    bitcode = b""

    def finalize(self) -> None:
        """Links all helpers, and has LLVM optimize the whole."""
        for part in _parts_of(self._linking_libraries):
            self._final_module.link_in(part, preserve=True)
        self._linking_libraries = []
        super().finalize()

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.private
        self._run_passes()
        self.bitcode = self._final_module.as_bitcode()

    def _run_passes(self) -> None:
        builder = self._codegen._pass_builder()
        builder.getModulePassManager().run(self._final_module, builder)


class _CountingLibrary(_KernelLibrary):
    """The code of a user's function that counts references to arrays."""

    def _run_passes(self) -> None:
        JITCodeLibrary._optimize_final_module(self)


class _HelperLibrary(JITCodeLibrary):
    """The code of a helper without those that it calls, as the frontend has made it."""

    def finalize(self) -> None:
        """Says that nothing is added any more."""
        self._finalized = True

    def own_part(self) -> Any:
        """The code of the helper alone."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self) -> Any:
        """The code with all that it calls, for a function that `numba.njit` compiles."""
        whole = self.own_part().clone()
        for part in _parts_of(self._linking_libraries):
            whole.link_in(part, preserve=True)
        return whole


def _parts_of(libraries: Any) -> list[Any]:
    """The code of libraries and of the helpers that they call, each once, and before that of what it calls.

    LLVM links what is called in what is there already, and nothing else.
    """
    parts: list[Any] = []
    _add_parts(libraries, set(), parts)
    return parts[::-1]


def _add_parts(libraries: Any, seen: set[Any], parts: list[Any]) -> None:
    for library in libraries:
        if library in seen:
            continue
        seen.add(library)
        if isinstance(library, _HelperLibrary):
            _add_parts(library._linking_libraries, seen, parts)
            parts.append(library.own_part())
        else:
            parts.append(library._get_module_for_linking())


def _add_form_for_c(context: Any, library: Any, fndesc: Any, env: Any, call_helper: Any) -> None:
    """Adds the form that C calls of a function that returns nothing.

    Numba's own has Python print what exceptions say, for which code must know functions of numba's; operations raise
    none, but where their indices are looked at.
    """
    module = context.create_module("form_for_c")
    function = ir.Function(
        module, context.call_conv.get_function_type(fndesc.restype, fndesc.argtypes), fndesc.llvm_func_name
    )
    kind = ir.FunctionType(ir.VoidType(), [context.get_value_type(each) for each in fndesc.argtypes])
    form = ir.Function(module, kind, fndesc.llvm_cfunc_wrapper_name)
    builder = ir.IRBuilder(form.append_basic_block())
    context.call_conv.call_function(builder, function, fndesc.restype, fndesc.argtypes, form.args)
    builder.ret_void()
    library.add_ir_module(module)


def _identity_of(library: Any, fndesc: Any, env: Any) -> Any:
    """What numba knows a compiled function by; it cannot be called."""
    library._ensure_finalized()
    return _dynfunc.make_function(fndesc.lookup_module(), fndesc.qualname.split(".")[-1], "", 0, env, (library,))


class _OwnFlags(Flags):
    """The options of a function; a copy of them, which numba shows to callees, has only those that matter to these."""

    __slots__ = ()

    def copy(self) -> Any:
        shown = _ShownFlags(self)
        for name in _OWN_OPTIONS:
            shown.discard(name)
        return _shown.setdefault(shown.summary(), shown)


class _ShownFlags(Flags):
    """Options of which there is one object only for all that are the same."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


_shown: dict[str, _ShownFlags] = {}
