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
        target: the same for Zig, with the oldest version of the C library.
    """

    folders: dict[str, str]
    suffix: str
    machine: Machine
    target: str


PLATFORMS = {
    "linux64": Platform(
        {"3.0": "x86_64-linux", "2.0": "linux64"}, ".so",
        Machine("x86_64-unknown-linux-gnu", "x86-64"), "x86_64-linux-gnu.2.17",
    ),
    "win64": Platform(
        {"3.0": "x86_64-windows", "2.0": "win64"}, ".dll",
        Machine("x86_64-w64-windows-gnu", "x86-64"), "x86_64-windows-gnu",
    ),
    "darwin64": Platform(
        {"3.0": "x86_64-darwin", "2.0": "darwin64"}, ".dylib",
        Machine("x86_64-apple-macosx11.0.0", "x86-64"), "x86_64-macos.11.0",
    ),
    "linux-aarch64": Platform(
        {"3.0": "aarch64-linux"}, ".so", Machine("aarch64-unknown-linux-gnu", "generic"), "aarch64-linux-gnu.2.17",
    ),
    "darwin-aarch64": Platform(
        {"3.0": "aarch64-darwin"}, ".dylib", Machine("arm64-apple-macosx11.0.0", "apple-m1"), "aarch64-macos.11.0",
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


def require_linker() -> None:
    """Raises an ImportError if Zig, which links for all platforms, is not installed."""
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
    codes = [object_at(platform.machine, code) for code in image.image.codes]
    objects = {code.symbol: code.content for code in codes}
    cells: dict[str, str] = {}  # of shared functions: the name of the function whose address is in them
    needed: set[str] = set()
    waiting = list(zip(image.image.codes, codes))
    while waiting:
        address, code = waiting.pop()
        for name in sorted(set(code.needed) - cells.keys()):
            shared = shared_address(name)
            if shared is not None:
                called = object_at(platform.machine, shared)
                cells[name], objects[called.symbol] = called.symbol, called.content
                waiting.append((shared, called))
        _refuse_unknown(address, set(code.needed) - cells.keys())
        needed.update(code.needed)
    missing = sorted(name for name in needed - cells.keys() if _NEVER_CALLED.fullmatch(name) and name not in _OF_CALLS)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        names = [code.symbol for code in codes]
        (place / "model.c").write_text(_model_text(image, variables, model, names, cells, missing))
        objects["image"] = object_of_bytes(platform.machine, "model_image", image.image.content)
        for name, content in objects.items():
            (place / f"{name}.o").write_bytes(content)
        texts = [_SOURCES / name for name in ("instance.c", "calls.c", f"fmi{version[0]}.c")]
        library = place / f"{model.identifier}{platform.suffix}"
        _link(platform, place, [*texts, place / "model.c", *(place / f"{name}.o" for name in objects)], library)
        return library.read_bytes()


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
        *map(str, files), "-o", str(library), *(["-lm"] if platform.suffix == ".so" else []),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        raise RuntimeError(f"ExportFmu: linking for {platform.target} failed:\n{done.stderr[-3000:]}")


def _model_text(
    image: ClosedImage,
    variables: Variables,
    model: Model,
    codes: Sequence[str],
    cells: dict[str, str],
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
    lines += [f"extern void {name}(void);" for name in dict.fromkeys([*codes, *cells.values()])]
    lines += [f"void (*{cell})(void) = {name};" for cell, name in cells.items()]
    lines += [f"void *{name}(void) {{ return NULL; }}" for name in missing]
    values = ", ".join([f'.token = "{model.token}"', *(f".{name} = {number}" for name, number in numbers.items())])
    tables: dict[str, Iterable[object]] = {
        "const Model model": [values],
        "void (*const model_codes[])(void)": codes,
        "const uint32_t model_addresses[]": image.image.addresses,
        "const uint32_t model_functions[]": image.image.functions,
        "const Variable model_variables[]": (f"{{{each.place}, {each.kind}}}" for each in variables.listed),
    }
    lines += [f"{declared} = {{{', '.join(map(str, values))}}};" for declared, values in tables.items()]
    return "\n".join(lines) + "\n"
