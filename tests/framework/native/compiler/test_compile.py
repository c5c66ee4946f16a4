"""Kernels: one source for three scalars, kept on disk, announced on terminals."""

from __future__ import annotations

import ast
import importlib.util
import io
import os
import re
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numba
import numpy as np
import pytest

from merganser.framework.common.running_time import running_time, time_compiling
from merganser.framework.native import cache_directory, device, kernel, source_hash, specialize
from merganser.framework.native.compiler import code_files
from merganser.framework.native.compiler import kernels as compile_module
from merganser.framework.native.compiler.announce import announcer
from merganser.framework.native.compiler.kernels import Kernel, kernel_address


@device
def square(x):
    return x * x


@kernel
def sum_of_squares(values_in, total_out):
    total_out[0] = 0 * values_in[0]
    for i in range(values_in.shape[0]):
        total_out[0] += square(values_in[i])


def test_one_source_serves_three_scalars():
    total = np.zeros(1)
    sum_of_squares(np.array([1.0, 2.0]), total)
    assert total[0] == 5.0
    total = np.zeros(1, complex)
    sum_of_squares(np.array([1.0, 2.0 + 1e-100j]), total)
    assert total[0].imag == 4e-100
    total = np.zeros(1, object)
    sum_of_squares.interpreted(np.array([Fraction(1, 3), Fraction(2, 3)]), total)
    assert total[0] == Fraction(5, 9)


def test_specialized_code_gives_the_same_result():
    values, total = np.array([1.0, 2.0, 3.0]), np.zeros(1)
    code = specialize(sum_of_squares, values, total)
    code(values, total)
    assert total[0] == 14.0
    assert specialize(sum_of_squares, values, total) is code


def test_cache_folder_depends_on_all_kernel_sources(monkeypatch, tmp_path):
    monkeypatch.setenv("MERGANSER_CACHE_DIR", str(tmp_path))
    assert cache_directory().parent == tmp_path
    assert source_hash()[:16] in cache_directory().name


def test_source_hash_changes_with_a_helper_in_another_file(monkeypatch, tmp_path):
    folder = tmp_path / "multibody" / "kernels"
    folder.mkdir(parents=True)
    (folder / "helper.py").write_text("x = 1\n")
    (tmp_path / "multibody" / "kernels.txt").write_text("multibody: kernels\n")
    monkeypatch.setattr(code_files, "__file__", str(tmp_path / "framework" / "native" / "compiler" / "code_files.py"))
    before = source_hash.__wrapped__()
    (folder / "helper.py").write_text("x = 2\n")
    code_files._hash_of_sources.cache_clear()  # another process would read them
    assert source_hash.__wrapped__() != before


def test_source_hash_counts_all_numbers_and_helpers_that_kernels_import():
    root = Path(code_files.__file__).parents[3]
    groups = code_files.kernel_groups()
    for group, (folders, below) in groups.items():
        hashed = tuple(folder for name in (*below, group) for folder in groups[name].folders)
        for place in (root / folder.replace(".", "/") for folder in folders):
            paths = (*place.rglob("*.py"), *place.parent.glob(f"{place.name}.py"))
            assert paths, f"kernels.txt names {place}, which is not there"
            for path in paths:
                for node in ast.walk(ast.parse(path.read_text())):
                    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("merganser."):
                        names = [alias.name for alias in node.names if alias.name.lstrip("_").isupper()]
                        values = [getattr(importlib.import_module(node.module), name) for name in names]
                        source = root / (node.module.removeprefix("merganser.").replace(".", "/") + ".py")
                        text = source.read_text() if source.exists() else ""
                        helpers = re.findall(r"^@(?:device|inlined)\ndef (\w+)", text, re.MULTILINE)
                        needed = any(isinstance(value, int | float) for value in values)
                        needed = needed or not {alias.name for alias in node.names}.isdisjoint(helpers)
                        is_hashed = code_files._is_in(node.module.removeprefix("merganser."), hashed)
                        assert is_hashed or not needed, (path, node.module)


def _module_with_kernel(tmp_path, name):
    path = tmp_path / f"{name}.py"
    path.write_text(
        "from merganser.framework.native import kernel\n\n\n@kernel\ndef twice(x_in):\n    return 2.0 * x_in\n"
    )
    spec = importlib.util.spec_from_file_location(f"merganser.{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("wanted", [True, False])
def test_compilation_is_announced_on_a_terminal_and_taken_away(monkeypatch, tmp_path, wanted):
    monkeypatch.setenv("MERGANSER_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("MERGANSER_PROGRESS", "1" if wanted else "0")
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert _module_with_kernel(tmp_path, f"announced_{wanted}").twice(2.0) == 4.0
    shown = sys.stderr.getvalue()
    assert ("compiling twice" in shown) is wanted
    assert shown == "" or shown.endswith("\r\033[K")


@pytest.mark.parametrize("wanted", [True, False])
def test_without_a_terminal_one_line_says_that_kernels_are_compiled(monkeypatch, tmp_path, wanted):
    monkeypatch.setenv("MERGANSER_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("MERGANSER_PROGRESS", "1" if wanted else "0")
    monkeypatch.setattr(announcer, "_was_said", False)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    for name in ("one", "two"):
        _module_with_kernel(tmp_path, f"said_{name}_{wanted}").twice(2.0)
    assert sys.stderr.getvalue().count("compiling kernels") == sys.stderr.getvalue().count("\n") == int(wanted)


def test_rates_of_simulations_do_not_count_compilation(monkeypatch, tmp_path):
    monkeypatch.setenv("MERGANSER_CACHE_DIR", str(tmp_path))
    before, compiling = running_time(), time_compiling()
    begin = time.perf_counter()
    _module_with_kernel(tmp_path, "counted").twice(2.0)
    elapsed = time.perf_counter() - begin
    compiled = time_compiling() - compiling
    assert 0.0 < compiled <= elapsed
    assert running_time() - before == pytest.approx(time.perf_counter() - begin - compiled, abs=0.05)


def test_second_process_takes_the_kernel_from_disk(tmp_path):
    (tmp_path / "m.py").write_text(
        "from merganser.framework.native import kernel\n\n\n@kernel\ndef f(x_in):\n    return 2.0 * x_in\n\n\n"
        "import sys\nprint(f(1.0), *(code.is_from_disk for code in f.codes.values()), 'numba' in sys.modules)\n"
    )
    environment = {**os.environ, "MERGANSER_CACHE_DIR": str(tmp_path / "cache")}

    def run():
        command = [sys.executable, str(tmp_path / "m.py")]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()

    assert run() == ["2.0", "False", "True"]
    assert run() == ["2.0", "True", "False"]


def test_folder_that_cannot_be_written_to_costs_a_warning_only():
    code = (
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    from merganser.framework.native import kernel\n"
        "    f = kernel(lambda x: 2.0 * x)\n"
        "    g = kernel(lambda x: 3.0 * x)\n"
        "    print(f(1.0), g(1.0), len(caught), caught[0].message)\n"
    )
    environment = {**os.environ, "MERGANSER_CACHE_DIR": "/dev/null/nowhere"}
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert output.startswith("2.0 3.0 1 Compiled kernels cannot be kept in '/dev/null/nowhere")
    assert "MERGANSER_CACHE_DIR" in output


def test_disabled_compiler_leaves_plain_python(tmp_path):
    code = (
        "import numpy as np\n"
        "from merganser.framework.native import specialize\n"
        "from merganser.multibody import kernels\n"
        "assert kernels.energies.interpreted is specialize(kernels.energies, np.zeros(1))\n"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_a_kernel_that_allocates_is_refused_by_the_compiler():
    @kernel
    def allocating(values_in, total_out):
        room = np.zeros(values_in.shape[0])
        total_out[0] = room[0] + values_in[0]

    with pytest.raises(numba.core.errors.NumbaError):
        specialize(allocating, np.zeros(2), np.zeros(1))


def test_an_index_out_of_bounds_is_an_error_where_numba_looks(tmp_path):
    code = (
        "import numpy as np\n"
        "from merganser.framework.native import Result, bind, kernel\n"
        "f = kernel(lambda x, y: x[3])\n"
        "for call in (f, bind(f, np.ones(2), Result((1,)))):\n"
        "    try:\n"
        "        call(*(np.ones(2), np.ones(1))[: 2 if call is f else 0])\n"
        "    except IndexError as error:\n"
        "        print(error)\n"
    )
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "MERGANSER_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert output.splitlines() == ["<lambda>() was ended by an exception, such as an index that is out of bounds."] * 2


def _write_and_return_nothing_new(x_in, x_out):
    x_out[0] = 2.0 * x_in[0]
    return 0


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_a_kernel_that_returns_a_constant_has_an_entry_point_compiled_or_from_disk():
    constant, x, y = kernel(_write_and_return_nothing_new), np.ones(1), np.zeros(1)
    assert constant.code(x, y).result == "int64"
    assert constant(x, y) == 0
    assert y == 2.0


@kernel
def third(x_in):
    return x_in / 3.0


def test_code_that_is_loaded_twice_at_once_is_that_which_is_in_use(monkeypatch, tmp_path):
    """One thread is loading when another has the code already, and has handed on its address."""
    monkeypatch.setenv("MERGANSER_CACHE_DIR", str(tmp_path))
    Kernel(third.interpreted).code(1.0)  # now it is on the disk
    loaded = Kernel(third.interpreted)
    load, addresses = compile_module.load, []

    def slow(code):
        found = load(code)
        monkeypatch.setattr(compile_module, "load", load)
        addresses.append(kernel_address(loaded, 1.0))
        return found

    monkeypatch.setattr(compile_module, "load", slow)
    assert loaded.load(1.0)
    assert [code.address for code in loaded.codes.values()] == addresses
