"""ExportFmu: a diagram as a Functional Mock-up Unit that needs no Python.

Its shared library has a fixed part in C (binary/), the model's memory and its compiled functions.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from merganser.analysis.fmi.closed_plan import ClosedImage, ClosedPlan, context_apart
from merganser.analysis.fmi.description import PICTURES, STATE, Model, Variables, model_description, page_of, picture_of
from merganser.analysis.simulation.simulator import Simulator
from merganser.analysis.simulation.simulator_config import ApplySimulatorConfig, SimulatorConfig
from merganser.framework.common.saving import save_bytes
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.native import compile_ahead
from merganser.framework.native.compiler.machine_code import MachineCode
from merganser.framework.native.compiler.portable_code import (
    Machine,
    describe_code,
    names_needed_by,
    object_of_bytes,
    objects_at,
)
from merganser.framework.native.memory.shared_code import feature_of, is_cell, job_of, shared_address

if TYPE_CHECKING:
    import os

    from merganser.framework import Context, System

_KINDS = ("cs", "me")
_VERSIONS = ("2.0", "3.0")


def ExportFmu(
    system: System,
    path: str | os.PathLike[str],
    *,
    kinds: Sequence[str] = _KINDS,
    version: str = "3.0",
    platforms: Sequence[str] = ("linux64",),
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    parameters: Sequence[str] | None = None,
    context: Context | None = None,
    step: float | None = None,
    config: SimulatorConfig | None = None,
) -> None:
    """Writes a system as a Functional Mock-up Unit (FMI), for other tools to simulate.

    The file has the compiled loop of the Simulator in it, with the operations of the blocks and the values of the
    context: neither Python nor this package is needed where it runs. Co-simulation computes what `AdvanceTo` computes,
    to the last bit on the same processor. Inputs are constant over a communication step. Publish events, such as those
    of loggers and viewers, are left out; initialization events happen now.

    Args:
        system: whose blocks all have compiled forms; usually a Diagram.
        path: of the file; its name ends with ".fmu".
        kinds: "cs" for co-simulation, "me" for model exchange.
        version: of FMI: "2.0" or "3.0".
        platforms: where it is to run, see PLATFORMS; FMI 2.0 knows only the first three.
        inputs, outputs: names of ports of the system; None for all that carry vectors.
        parameters: path names of blocks, such as "arm.controller", whose numeric parameters can be changed; None for
            those of all blocks that have few.
        context: the values at the start; by default a new default context.
        step: of the integrator in co-simulation [s]; None for the Simulator's error control.
        config: of the Simulator, for other integrators; not together with `step`.

    Raises:
        ValueError: the system cannot leave Python, or an argument is wrong; nothing is written.
        RuntimeError: a function calls what only Python has, or there is no compiled code here.
        ImportError: the linker is not installed.
    """
    path = Path(path)
    _check("kinds", kinds, _KINDS)
    _check("version", [version], _VERSIONS)
    known = [name for name, platform in PLATFORMS.items() if version in platform.folders]
    _check("platforms", platforms, known)
    if path.suffix != ".fmu":
        raise ValueError(f"ExportFmu: the name of the file must end with '.fmu', got '{path.name}'.")
    config = _config_of(step, config)
    require_tools()

    given = system.CreateDefaultContext() if context is None else context
    system.ValidateContext(given)
    apart = context_apart(given)
    variables = Variables(system, apart, inputs, outputs, parameters)
    simulator = Simulator(system, apart)
    if config is not None:
        ApplySimulatorConfig(config, simulator)
        apart.SetTime(given.get_time())
    closed = ClosedPlan(simulator, variables.computed, variables.output_ports)
    if "me" in kinds:
        closed.refuse_model_exchange()
    image = closed.image("me" in kinds)
    variables.add_states(image.derivatives, image.witnesses or (), image.indicators)

    name = system.get_name() or type(system).__name__
    token = hashlib.sha256(image.image.content + repr((version, kinds, variables.listed)).encode()).hexdigest()[:32]
    fixed_step = config.max_step_size if config is not None and not config.use_error_control else None
    model = Model(name, re.sub(r"\W", "_", f"m_{name}" if name[:1].isdigit() else name, flags=re.ASCII), token, kinds,
                  float(given.get_time()), fixed_step, image.witnesses is not None, closed.slopes.missing)  # fmt: skip
    files = {"modelDescription.xml": model_description(model, variables, version)}
    for each in dict.fromkeys(platforms):
        platform = PLATFORMS[each]
        place = f"binaries/{platform.folders[version]}/{model.identifier}{platform.suffix}"
        files[place] = shared_library(platform, image, variables, model, version)
    picture = {name: content for name, content in [(PICTURES[version], picture_of(system))] if content}
    files |= {**picture, "documentation/index.html": page_of(model, variables, picture).encode()}
    _save(path, files)


def _check(what: str, given: Sequence[str], known: Sequence[str]) -> None:
    if isinstance(given, str) or not given or any(each not in known for each in given):
        raise ValueError(f"ExportFmu: {what} must be among {', '.join(map(repr, known))}; got {given!r}.")


def _config_of(step: float | None, config: SimulatorConfig | None) -> SimulatorConfig | None:
    if step is None:
        return config
    if config is not None:
        raise ValueError("ExportFmu: give either step or config, whose max_step_size is the step.")
    if not 0.0 < step < float("inf"):
        raise ValueError(f"ExportFmu: step must be positive and finite, got {step} s.")
    return SimulatorConfig(max_step_size=step, use_error_control=False)


def _save(path: Path, files: dict[str, bytes]) -> None:
    """Writes a zip file whose bytes depend on nothing else than what is in it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    save_bytes(path, buffer.getvalue())


# ---------------------------------------------------------------------- the shared library

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
    "numba_nextafter", "numba_frexp", "numba_ldexp", "merganser_find_code",
)  # fmt: skip
# What compiled code refers to and never calls here: functions of Python for exceptions.
_NEVER_CALLED = re.compile(r"_?Py\w+|numba_(unpickle|do_raise|gil_\w+)|NRT_MemInfo_call_dtor")
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


def shared_library(platform: Platform, image: ClosedImage, variables: Variables, model: Model, version: str) -> bytes:
    """The library of an FMU.

    Raises:
        RuntimeError: the model needs functions that only Python has, or the linker failed.
    """
    machines = [machine for machine in (platform.machine, platform.newer) if machine is not None]
    reached = _Reached(image)
    compiled = objects_at(machines, reached.addresses)
    objects = {code.symbol: code.content for codes in compiled for code in codes}
    missing = sorted(name for name in reached.needed if _NEVER_CALLED.fullmatch(name) and name not in _OF_CALLS)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "model.c").write_text(_model_text(image, variables, model, reached, compiled, missing))
        objects["image"] = object_of_bytes(platform.machine, "model_image", image.image.content)
        for name, content in objects.items():
            (place / f"{name}.o").write_bytes(content)
        texts = [_SOURCES / name for name in ("instance.c", "memory.c", "saved.c", "calls.c", f"fmi{version[0]}.c")]
        library = place / f"{model.identifier}{platform.suffix}"
        _link(platform, place, [*texts, place / "model.c", *(place / f"{name}.o" for name in objects)], library)
        return library.read_bytes()


class _Reached:
    """The functions that an image calls, and those that these call.

    Attributes:
        addresses: of the functions, by their numbers in the image; then of others.
        cells: by names of cells of shared functions, where among these the functions are.
        empty_cells: names of those of which the model has no need.
        needed: all names that the functions refer to.

    Raises:
        RuntimeError: one calls what only Python has.
    """

    def __init__(self, image: ClosedImage) -> None:
        self.addresses, self.cells, self.needed = list(image.image.codes), dict[str, int](), set[str]()
        self.empty_cells: list[str] = []
        done = 0
        while done < len(self.addresses):
            found: set[str] = set()
            for address in self.addresses[done:]:
                names = set(names_needed_by(address))
                _refuse_unknown(address, {name for name in names if not is_cell(name)})
                found |= names
            done = len(self.addresses)
            new = sorted(name for name in found - self.needed if is_cell(name))
            self.needed |= found
            wanted = [name for name in new if feature_of(name) in ("", *image.features)]
            self.empty_cells += [name for name in new if name not in wanted]
            compile_ahead([job_of(name) for name in wanted])
            for name in reversed(wanted):  # other processes begin with the first
                self.cells[name] = len(self.addresses)
                self.addresses.append(shared_address(name))


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
    reached: _Reached,
    compiled: Sequence[Sequence[MachineCode]],
    missing: Iterable[str],
) -> str:
    """The text of model.c: numbers, tables, cells of shared functions, and functions that are never called."""
    grown = image.capacities
    numbers = {
        "has_model_exchange": int("me" in model.kinds), "has_co_simulation": int("cs" in model.kinds),
        "num_variables": len(variables.listed), "num_states": len(variables.of_kind(STATE)),
        "derivatives": image.derivatives, "image_size": len(image.image.content),
        "num_addresses": len(image.image.addresses), "num_functions": len(image.image.functions),
        "problem": image.problem, "outputs": image.outputs, "num_operations": image.num_outputs,
        "num_numbers": image.num_numbers, "slopes": image.slopes, "num_slopes": image.num_slopes,
        "complex_numbers": image.complex_numbers, "has_pieces": int(image.witnesses is not None),
        "steps_are_events": int(image.steps_are_events), "indicators": image.indicators,
        "num_indicators": len(image.witnesses or ()), "num_capacities": len(grown.num_places),
        "num_found": len(grown.found), "num_arrays": len(grown.arrays),
        **{f"entries.{name}": number for name, number in image.entries.items()},
    }  # fmt: skip
    names = [[code.symbol for code in codes] for codes in compiled]
    lines = ['#include "instance.h"']
    lines += [f"extern void {name}(void);" for each in names for name in each]
    lines += [f"Code {cell} = {names[0][number]};" for cell, number in reached.cells.items()]
    lines += [f"Code {cell};" for cell in reached.empty_cells]
    lines += [f"void *{name}(void) {{ return NULL; }}" for name in missing]
    values = ", ".join([f'.token = "{model.token}"', *(f".{name} = {number}" for name, number in numbers.items())])
    tables: dict[str, Iterable[object]] = {
        "const Model model": [values],
        "static const Code codes[]": names[0],
        "static const Code new_codes[]": names[-1],
        "const uint32_t model_addresses[]": image.image.addresses,
        "const uint32_t model_functions[]": image.image.functions,
        "const Variable model_variables[]": (f"{{{each.place}, {each.kind}}}" for each in variables.listed),
        "const int64_t model_places[]": grown.num_places,
        "const char *const model_owners[]": (json.dumps(path) for path in grown.owners),
        "const Found model_found[]": (f"{{{place}, {number}}}" for place, number in grown.found),
        "const Array model_arrays[]": (
            f"{{{each.place}, {len(each.words)}, {each.growth.axis}, {int(each.growth.is_emptied)}, {each.length}, "
            f"{each.item_size}}}" for each in grown.arrays
        ),
        "const int64_t model_growths[]": (
            each.per_place.get(number, 0) for each in grown.arrays for number in range(len(grown.num_places))
        ),
        "const uint32_t model_array_words[]": (word for each in grown.arrays for word in each.words),
    }  # fmt: skip
    lines += [f"{declared} = {{{', '.join(map(str, values))}}};" for declared, values in tables.items()]
    lines += ["const Code *model_codes = codes;", f"const bool model_has_new_codes = {len(compiled) - 1};"]
    cells = "".join(f"    {cell} = {names[-1][number]};\n" for cell, number in reached.cells.items())
    lines += [f"void model_use_new_codes(void)\n{{\n    model_codes = new_codes;\n{cells}}}"]
    return "\n".join(lines) + "\n"
