"""Compiled functions for other processes: as LLVM bitcode, and as object files for any machine.

Machine code on the disk is made for this processor. What goes elsewhere is made from the code that LLVM has optimized,
which is kept on the disk beside the machine code, so that nothing is compiled a second time.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from merganser.framework.native.compiler import parallel_compilation
from merganser.framework.native.compiler.extending import import_whole
from merganser.framework.native.compiler.machine_code import MachineCode

if TYPE_CHECKING:
    from merganser.framework.native.compiler.code_files import CodeFiles


class Machine(NamedTuple):
    """A kind of machine.

    Attributes:
        triple: as LLVM names it.
        processor: the oldest one that the code is to run on, as LLVM names it.
    """

    triple: str
    processor: str


class _Source(NamedTuple):
    """Where the code at an address comes from: its files, and what compiles it again, see `obtain` in kernels.py."""

    files: CodeFiles
    types: str | None
    make: Callable[[], tuple[Any, MachineCode | None]]


_sources: dict[int, _Source] = {}  # by addresses


def note_source(
    address: int, files: CodeFiles, types: str | None, make: Callable[[], tuple[Any, MachineCode | None]]
) -> None:
    """Notes where the code at an address comes from.

    Args:
        address: of the code.
        files: of the function.
        types: of its arguments, see `text_of_types`.
        make: compiles it; refers to no values of arguments, which would be kept for ever.
    """
    _sources[address] = _Source(files, types, make)


def is_code(address: int) -> bool:
    """Whether a compiled function of this package or of a user begins at an address."""
    return address in _sources


def describe_code(address: int) -> str:
    """The name of the function at an address."""
    return _sources[address].files.describe()


def names_needed_by(address: int) -> tuple[str, ...]:
    """The names that the function at an address may refer to.

    Raises:
        RuntimeError: the code has addresses of this process in it.
    """
    return _bitcode_at(address).needed


def objects_at(machines: Sequence[Machine], addresses: Sequence[int]) -> list[list[MachineCode]]:
    """The functions at some addresses as object files for other machines, whose lists come one after the other.

    The name of a function is its own for each machine; nothing else in its file can be seen from outside. What has not
    been made before is made in as many processes as there are processors.
    """
    wanted = [(machine, address) for machine in machines for address in addresses]
    made = {each: kept for each in wanted if (kept := _kept_object(*each)) is not None}
    jobs = {(machine, address): (_bitcode_at(address), machine) for machine, address in wanted}
    missing = sorted((each for each in jobs if each not in made), key=lambda each: -len(jobs[each][0].content))
    number = 1 + parallel_compilation.num_helpers()
    shares = [missing[n::number] for n in range(number)]
    helpers = [_Helper([jobs[each] for each in share]) for share in shares[1:] if share]
    made |= zip(shares[0], _make_objects(jobs[each] for each in shares[0]))
    for share, helper in zip(shares[1:], helpers):
        made |= zip(share, helper.results(), strict=True)
    for machine, address in missing:
        files, types, _ = _sources[address]
        if (key := files.key(types)) is not None:
            files.keep(_key_of_object(key, machine), made[machine, address])
    return [[made[machine, address] for address in addresses] for machine in machines]


_Job: TypeAlias = tuple[MachineCode, Machine]  # bitcode, and what to make an object file for


class _Helper:
    """Another process that makes object files."""

    def __init__(self, jobs: list[_Job]) -> None:
        self._jobs, code = jobs, f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import help_; help_()"
        self._process: Any = None
        with contextlib.suppress(OSError):  # there can be no more processes
            self._process = subprocess.Popen(
                [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            with self._process.stdin as pipe:
                pickle.dump(jobs, pipe)

    def results(self) -> list[MachineCode]:
        """Waits for them; makes them here if the process has failed."""
        if self._process is None:
            return _make_objects(self._jobs)
        with self._process.stdout as pipe:
            content: bytes = pipe.read()
        if self._process.wait():
            return _make_objects(self._jobs)
        made: list[MachineCode] = pickle.loads(content)
        return made


def help_() -> None:
    """What a helper does: object files of what it reads from its standard input."""
    pickle.dump(_make_objects(pickle.load(sys.stdin.buffer)), sys.stdout.buffer)


def _make_objects(jobs: Iterable[_Job]) -> list[MachineCode]:
    made = []
    for code, machine in jobs:
        name = f"merganser_code_{hashlib.sha256(code.content + repr(machine).encode()).hexdigest()[:24]}"
        made.append(code._replace(symbol=name, content=_object_for(machine, code, name)))
    return made


def _key_of_object(key: str, machine: Machine) -> str:
    return f"{key}\nobject for {machine}"


def _kept_object(machine: Machine, address: int) -> MachineCode | None:
    files, types, _ = _sources[address]
    key = files.key(types)
    return None if key is None else files.read(_key_of_object(key, machine))


def keep_bitcode(files: CodeFiles, key: str, code: Any, made: MachineCode) -> None:
    """Keeps the optimized LLVM bitcode of code that has just been compiled, beside its machine code for a key."""
    content: bytes = getattr(code.owner, "bitcode", b"")
    if content:
        files.keep(_key_of_bitcode(key), made._replace(content=content))


def _key_of_bitcode(key: str) -> str:
    return f"{key}\nbitcode"


def _bitcode_at(address: int) -> MachineCode:
    """The function at an address, with LLVM bitcode in place of machine code."""
    files, types, make = _sources[address]
    key = files.key(types)
    kept = None if key is None else files.read(_key_of_bitcode(key))
    if kept is not None:
        return kept
    code, made = make()
    content: bytes = getattr(code.owner, "bitcode", b"")
    if made is None or not content:
        raise RuntimeError(
            f"{files.describe()} cannot leave this process: its code has addresses in it, as of arrays or other "
            "objects that it uses as global variables. Pass these as parameters."
        )
    if key is not None:
        keep_bitcode(files, key, code, made)
    return made._replace(content=content)


def _object_for(machine: Machine, code: MachineCode, name: str) -> bytes:
    """An object file of bitcode, in which the function has another name."""
    module = _without_counts(_binding().parse_bitcode(code.content))
    target = _target_machine(machine)
    module.triple, module.data_layout = machine.triple, str(target.target_data)
    entry = module.get_function(code.symbol)
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration:
            value.linkage = "internal"
    entry.name, entry.linkage, entry.visibility = name, "external", "hidden"
    content: bytes = _PATH.sub(_without_folder, target.emit_object(module))
    return content


# Paths of source files, as pickle writes them into records of exceptions: behind their lengths.
_PATH = re.compile(rb"(\x8c.|X..\0\0)(/[\x20-\xff]+?\.py)(?=\x94)", re.DOTALL)


def _without_folder(found: re.Match[bytes]) -> bytes:
    """A path that is as long, and begins in no folder."""
    name = found[2].rpartition(b"/")[2]
    return found[1] + b"." + name.rjust(len(found[2]) - 1, b"/")


_COUNTING = re.compile(r"^(define [^\n]*@NRT_(?:inc|dec)ref\([^\n]*\{\n).*?^\}", re.MULTILINE | re.DOTALL)


def _without_counts(module: Any) -> Any:
    """The same code without counts of references: all arrays are views, and numba counts by this processor's means."""
    if not any(function.name.startswith("NRT_") for function in module.functions):
        return module
    return _binding().parse_assembly(_COUNTING.sub(r"\1  ret void\n}", str(module)))


def object_of_bytes(machine: Machine, name: str, content: bytes) -> bytes:
    """An object file with some constant bytes, at a place that any number may be read from."""
    binding, ir = _binding(), import_whole("llvmlite.ir")
    module = ir.Module()
    kind = ir.ArrayType(ir.IntType(8), len(content))
    constant = ir.GlobalVariable(module, kind, name)
    constant.initializer, constant.global_constant, constant.align = ir.Constant(kind, bytearray(content)), True, 16
    target = _target_machine(machine)
    parsed = binding.parse_assembly(str(module))
    parsed.triple, parsed.data_layout = machine.triple, str(target.target_data)
    parsed.get_global_variable(name).visibility = "hidden"
    made: bytes = target.emit_object(parsed)
    return made


@functools.cache
def _target_machine(machine: Machine) -> Any:
    target = _binding().Target.from_triple(machine.triple)
    return target.create_target_machine(cpu=machine.processor, opt=3, reloc="pic", codemodel="small")


@functools.cache
def _binding() -> Any:
    binding = import_whole("llvmlite.binding")
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding
