"""Machine code that is loaded without numba, and the extensions registered with numba when something is compiled."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

from merganser.framework.core.context.native_code import may_compile
from merganser.framework.native import kernel, specialize
from merganser.framework.native.compiler import machine_code
from merganser.framework.native.compiler.argument_types import text_of_types, type_key
from merganser.framework.native.compiler.extending import Later
from merganser.framework.native.compiler.kernels import Kernel
from merganser.framework.native.compiler.portable_code import Machine, objects_at
from merganser.framework.native.memory.views import as_matrix

pytestmark = pytest.mark.skipif(not may_compile(), reason="numba does not compile")


@kernel
def put_in_matrix(values_io, row, column):
    matrix = as_matrix(values_io[1:7], 2, 3)
    matrix[row, column] = 10.0 * matrix.shape[0] + matrix.shape[1]


def test_a_part_of_an_array_is_seen_as_a_matrix_by_rows():
    compiled, interpreted = np.zeros(8), np.zeros(8)
    put_in_matrix(compiled, 1, 2)
    put_in_matrix.interpreted(interpreted, 1, 2)
    assert compiled.tolist() == interpreted.tolist() == [0.0] * 6 + [23.0, 0.0]


@kernel
def last_of(values_in):
    return values_in[values_in.shape[0] - 1]


def test_machine_code_for_other_machines_is_made_without_compiling_again(monkeypatch, tmp_path):
    monkeypatch.setattr(last_of._files, "_folder", tmp_path)
    address = last_of.code(np.zeros(2)).address
    monkeypatch.setattr(Kernel, "_compile_again", None)
    ((made,),) = objects_at([Machine("aarch64-unknown-linux-gnu", "generic")], [address])
    assert made.content.startswith(b"\x7fELF") and made.content[18:20] == b"\xb7\x00"  # for AArch64
    assert made.symbol.encode() in made.content


@kernel
def refuses_negative(values_in):
    if values_in[0] < 0.0:
        raise ValueError("negative")
    return values_in[0]


def test_code_for_other_machines_names_no_folder_of_this_one():
    address = refuses_negative.code(np.zeros(2)).address
    ((made,),) = objects_at([Machine("x86_64-unknown-linux-gnu", "x86-64")], [address])
    record = re.search(rb"\x8c(.)([./]*test_machine_code\.py)\x94", made.content, re.DOTALL)  # of the exception
    assert record and record[2].startswith(b"./") and record[1][0] == len(record[2]) == len(__file__)
    assert __file__.encode() not in made.content


@kernel
def conjugated(z_in):
    return z_in.conjugate()


def test_complex_numbers_are_taken_and_returned():
    assert conjugated(1.0 + 2.0j) == 1.0 - 2.0j
    with pytest.raises(TypeError):
        specialize(conjugated, 1j)("no number")


@kernel
def count_until_set(flag_io, watched, written):
    count = 0
    while flag_io[watched] == 0.0:
        count += 1
        if count == 1_000_000_000:
            return -1
        flag_io[written] = count
    return count


def test_other_threads_run_while_a_specialized_kernel_does():
    flag = np.zeros(2)
    code = specialize(count_until_set, flag, 0, 1)
    threading.Timer(0.05, flag.__setitem__, (0, 1.0)).start()
    assert code(flag, 0, 1) > 0


def test_code_that_needs_what_is_not_there_is_not_loaded():
    assert machine_code.load(machine_code.MachineCode("f", "none", b"", ("no_such_function_anywhere",))) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (np.zeros((1, 3)), np.zeros((2, 3)), True),  # both by rows
        (np.zeros((2, 3)), np.zeros((2, 3)).T, False),
        (np.zeros(4), np.zeros(4)[::2], False),
        (np.zeros(2), np.zeros(2, np.float32), False),
        (np.zeros(1, [("a", float)]), np.zeros(1, [("b", float)]), False),
        (1, np.int64(1), True),
        (1, True, False),
        (1, 1.0, False),
        ((1, 2.0), (2, 3.0), True),
        ((1, 2.0), (1.0, 2), False),
    ],
)
def test_types_of_arguments_are_distinguished_as_by_numba(one, other, same):
    import numba

    assert (numba.typeof(one) == numba.typeof(other)) is same
    assert (type_key(one) == type_key(other)) is same
    assert (text_of_types((one,)) == text_of_types((other,))) is same


def test_arrays_that_cannot_be_written_to_are_of_another_type():
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    assert text_of_types((frozen,)) != text_of_types((np.zeros(2),))


def test_what_is_for_compiled_code_only_says_so():
    with pytest.raises(NotImplementedError, match="compiled code only"):
        Later(object)()


_MODULE = """
import sys
import numpy as np
from merganser.framework.native import device, inlined, kernel

@device
def half(x):
    return 0.5 * x

@inlined
def quarter(x):
    return half(half(x))

@kernel
def fill(values_in, total_out):
    for i in range(values_in.shape[0]):
        total_out[i] = quarter(values_in[i])

out = np.zeros(2)
fill(np.array([4.0, 8.0]), out)
print(*out, "numba" in sys.modules, "llvmlite" in sys.modules)
"""


def test_numba_is_imported_to_compile_and_not_to_load(tmp_path):
    (tmp_path / "helpers_of_mine.py").write_text(_MODULE)
    environment = {**os.environ, "MERGANSER_CACHE_DIR": str(tmp_path / "cache")}

    def run():
        command = [sys.executable, "-c", "import helpers_of_mine"]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert run() == ["1.0", "2.0", "True", "True"]
    assert run() == ["1.0", "2.0", "False", "True"]


OPERATION = """
import sys
from merganser.multibody.dynamics.operation import CONTACT_FORCES
CONTACT_FORCES.address()
print("numba" in sys.modules)
"""


def test_operations_that_count_references_are_taken_from_the_disk_without_numba(tmp_path):
    environment = os.environ | {"MERGANSER_CACHE_DIR": str(tmp_path), "MERGANSER_COMPILE_HELPERS": "0"}
    command = [sys.executable, "-c", OPERATION]
    runs = [
        subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [run.stdout for run in runs] == ["True\n", "False\n"]
