"""The shared library of an FMU: its fixed part in C (binary/), the model's memory and its compiled functions."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from merganser.analysis.fmi.closed_plan import ClosedImage
from merganser.analysis.fmi.description import Model
from merganser.analysis.fmi.variables import STATE, Variables
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.native.compiler.portable_code import (
    Machine,
    describe_code,
    object_at,
    object_of_bytes,
)
from merganser.framework.native.memory.shared_code import shared_address


class Platform(NamedTuple):
    """Where an FMU runs.

    Attributes:
        folders: of its library in FMI 3.0 and 2.0.
        suffix: of the library.
        machine: that LLVM compiles for.
        newer: a newer one, whose processors get code of their own; None without one.
        target: the same for Zig, with the oldest version of the C library.
    """

    folders: dict[str, str]
    suffix: str
    machine: Machine
    newer: Machine | None
    target: str


def _of_intel(triple: str) -> tuple[Machine, Machine]:
    """Any processor of 64 bits, and those with AVX2 and FMA, on which plants are three times as fast."""
    return Machine(triple, "x86-64"), Machine(triple, "x86-64-v3")


PLATFORMS = {
    "linux64": Platform(
        {"3.0": "x86_64-linux", "2.0": "linux64"}, ".so",
        *_of_intel("x86_64-unknown-linux-gnu"), "x86_64-linux-gnu.2.17",
    ),
    "win64": Platform(
        {"3.0": "x86_64-windows", "2.0": "win64"}, ".dll",
        *_of_intel("x86_64-w64-windows-gnu"), "x86_64-windows-gnu",
    ),
    "darwin64": Platform(
        {"3.0": "x86_64-darwin", "2.0": "darwin64"}, ".dylib",
        *_of_intel("x86_64-apple-macosx11.0.0"), "x86_64-macos.11.0",
    ),
    "linux-aarch64": Platform(
        {"3.0": "aarch64-linux"}, ".so",
        Machine("aarch64-unknown-linux-gnu", "generic"), None, "aarch64-linux-gnu.2.17",
    ),
    "darwin-aarch64": Platform(
        {"3.0": "aarch64-darwin"}, ".dylib",
        Machine("arm64-apple-macosx11.0.0", "apple-m1"), None, "aarch64-macos.11.0",
    ),
}  # fmt: skip

_SOURCES = Path(__file__).with_name("binary")
_OF_CALLS = (
    "PyGILState_Ensure", "PyGILState_Release", "PyObject_CallObject", "PyLong_AsLongLong", "Py_DecRef", "PyErr_Fetch",
    "numba_nextafter", "numba_frexp", "numba_ldexp",
)  # fmt: skip
# What compiled code refers to and never calls here: functions of Python for exceptions, and what fills empty cells.
_NEVER_CALLED = re.compile(r"_?Py\w+|numba_(unpickle|do_raise|gil_\w+)|NRT_MemInfo_call_dtor|merganser_find_code")
_OF_C = re.compile(
    r"(a?(cos|sin|tan)h?|atan2|cbrt|ceil|copysign|erfc?|exp2?|expm1|fabs|floor|fma|fmax|fmin|fmod|frexp|hypot|ldexp"
    r"|lgamma|log|log10|log1p|log2|modf|nearbyint|pow|remainder|rint|round|sincos|sqrt|tgamma|trunc)f?"
    r"|mem(cpy|move|set|cmp)"
)
_FLAGS = (
    "-shared", "-O2", "-std=gnu11", "-fPIC", "-fvisibility=hidden", "-fno-sanitize=all", "-fno-strict-aliasing",
    "-ffp-contract=off", "-s",
)  # fmt: skip
_OWN_FLAGS = {".so": "-lm", ".dylib": "-install_name @rpath/{}"}  # of the linker, by suffixes of libraries


def require_tools() -> None:
    """Looks for what makes FMUs: compiled code, Linux, and Zig, which links for all platforms.

    Raises:
        RuntimeError: there is no compiled code, or this is not Linux.
        ImportError: Zig is not installed.
    """
    if not may_compile() or sys.platform != "linux":
        raise RuntimeError("ExportFmu makes FMUs of compiled code, on Linux; unset NUMBA_DISABLE_JIT, or use WSL.")
    if importlib.util.find_spec("ziglang") is None:
        raise ImportError("ExportFmu needs ziglang, which links for all platforms. Install the extra: "
                          "pip install 'merganser[fmi]'.")  # fmt: skip


def shared_library(
    platform: Platform, image: ClosedImage, variables: Variables, model: Model, version: str
) -> bytes:
    """The library of an FMU.

    Raises:
        RuntimeError: the model needs functions that only Python has, or the linker failed.
    """
    machines = [machine for machine in (platform.machine, platform.newer) if machine is not None]
    compiled = [_compiled(machine, image.image.codes) for machine in machines]
    objects = {name: content for each in compiled for name, content in each.objects.items()}
    needed, cells = compiled[0].needed, compiled[0].cells
    missing = sorted(name for name in needed - cells.keys() if _NEVER_CALLED.fullmatch(name) and name not in _OF_CALLS)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "model.c").write_text(_model_text(image, variables, model, compiled, missing))
        objects["image"] = object_of_bytes(platform.machine, "model_image", image.image.content)
        for name, content in objects.items():
            (place / f"{name}.o").write_bytes(content)
        texts = [_SOURCES / name for name in ("instance.c", "calls.c", f"fmi{version[0]}.c")]
        library = place / f"{model.identifier}{platform.suffix}"
        _link(platform, place, [*texts, place / "model.c", *(place / f"{name}.o" for name in objects)], library)
        return library.read_bytes()


class _Compiled(NamedTuple):
    """The functions of a model for one machine.

    Attributes:
        names: of the functions, by their numbers in the image.
        objects: object files, by the names of the functions in them.
        cells: names of the cells of shared functions, and of the functions whose addresses are in them.
        needed: all names that the code refers to.
    """

    names: list[str]
    objects: dict[str, bytes]
    cells: dict[str, str]
    needed: set[str]


def _compiled(machine: Machine, addresses: Sequence[int]) -> _Compiled:
    codes = [object_at(machine, address) for address in addresses]
    made = _Compiled([code.symbol for code in codes], {code.symbol: code.content for code in codes}, {}, set())
    waiting = list(zip(addresses, codes))
    while waiting:
        address, code = waiting.pop()
        for name in sorted(set(code.needed) - made.cells.keys()):
            shared = shared_address(name)
            if shared is not None:
                called = object_at(machine, shared)
                made.cells[name], made.objects[called.symbol] = called.symbol, called.content
                waiting.append((shared, called))
        _refuse_unknown(address, set(code.needed) - made.cells.keys())
        made.needed.update(code.needed)
    return made


def _refuse_unknown(code: int, names: Iterable[str]) -> None:
    unknown = sorted(
        name for name in names if not (name in _OF_CALLS or _OF_C.fullmatch(name) or _NEVER_CALLED.fullmatch(name))
    )
    if unknown:
        raise RuntimeError(
            f"ExportFmu: {describe_code(code)} calls {', '.join(unknown)}, which only Python has. Write it with plain "
            "loops over numbers and arrays that it is given, without making new arrays."
        )


def _link(platform: Platform, folder: Path, files: Sequence[Path], library: Path) -> None:
    command = [
        sys.executable, "-m", "ziglang", "cc", "-target", platform.target, *_FLAGS, f"-I{_SOURCES}",
        *map(str, files), "-o", str(library), *_OWN_FLAGS.get(platform.suffix, "").format(library.name).split(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        raise RuntimeError(f"ExportFmu: linking for {platform.target} failed:\n{done.stderr[-3000:]}")


def _model_text(
    image: ClosedImage,
    variables: Variables,
    model: Model,
    compiled: Sequence[_Compiled],
    missing: Iterable[str],
) -> str:
    """The text of model.c: numbers, tables, cells of shared functions, and functions that are never called."""
    numbers = {
        "has_model_exchange": int("me" in model.kinds), "has_co_simulation": int("cs" in model.kinds),
        "num_variables": len(variables.listed), "num_states": len(variables.of_kind(STATE)),
        "derivatives": image.derivatives, "image_size": len(image.image.content),
        "num_addresses": len(image.image.addresses), "num_functions": len(image.image.functions),
        "problem": image.problem, "outputs": image.outputs, "num_operations": image.num_outputs,
        **{f"entries.{name}": number for name, number in image.entries.items()},
    }  # fmt: skip
    lines = ['#include "instance.h"']
    lines += [f"extern void {name}(void);" for each in compiled for name in each.objects]
    lines += [f"Code {cell} = {name};" for cell, name in compiled[0].cells.items()]
    lines += [f"void *{name}(void) {{ return NULL; }}" for name in missing]
    values = ", ".join([f'.token = "{model.token}"', *(f".{name} = {number}" for name, number in numbers.items())])
    tables: dict[str, Iterable[object]] = {
        "const Model model": [values],
        "static const Code codes[]": compiled[0].names,
        "static const Code new_codes[]": compiled[-1].names,
        "const uint32_t model_addresses[]": image.image.addresses,
        "const uint32_t model_functions[]": image.image.functions,
        "const Variable model_variables[]": (f"{{{each.place}, {each.kind}}}" for each in variables.listed),
    }
    lines += [f"{declared} = {{{', '.join(map(str, values))}}};" for declared, values in tables.items()]
    lines += ["const Code *model_codes = codes;", f"const bool model_has_new_codes = {len(compiled) - 1};"]
    cells = "".join(f"    {cell} = {name};\n" for cell, name in compiled[-1].cells.items())
    lines += [f"void model_use_new_codes(void)\n{{\n    model_codes = new_codes;\n{cells}}}"]
    return "\n".join(lines) + "\n"
