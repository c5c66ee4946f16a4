"""Compiled code on the disk: damaged, full, read-only, of others, and old."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

from merganser.framework.native import cache_directory, kernel, native
from merganser.framework.native.compiler import code_files, kept_files
from merganser.framework.native.operations.user_functions import CompiledFunction


def twice(x_in):
    return 2.0 * x_in


def thrice(x_in):
    return 3.0 * x_in


@native
def negated(u, y):
    y[0] = -u[0]


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty folder for compiled code, and nothing said yet."""
    monkeypatch.setenv("MERGANSER_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_files, "_said", set())
    monkeypatch.setattr(kept_files, "_unwritable", set())
    kept_files._remove_old_folders.cache_clear()
    kept_files._note_use.cache_clear()
    return cache_directory()


def use(*values, function=twice):
    """Calls a kernel as a new process would; whether each type of argument came from the disk."""
    fresh = kernel(function)
    results = [fresh(value) for value in values]
    assert results == [function(value) for value in values]
    return [code.is_from_disk for code in fresh.codes.values()]


def files(folder):
    return sorted(folder.iterdir())


def test_code_is_kept_in_a_folder_of_this_user_alone(folder):
    assert use(1.0, 1j) == [False, False]
    assert use(1.0, 1j) == [True, True]
    assert len(files(folder)) == 4  # machine code and bitcode of each
    assert {place.stat().st_mode & 0o777 for place in (folder, folder.parent)} == {0o700}


def flip_bit(content):
    place = len(content) // 2
    return content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:10],
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: b"garbage" * 1000,
        lambda content: content[:100] + bytes(len(content) - 100),
        flip_bit,
    ],
    ids=["empty", "beginning", "half", "a byte short", "a byte more", "garbage", "zeros", "a bit flipped"],
)
def test_a_damaged_file_is_removed_and_its_kernel_compiled_again(folder, damage):
    use(1.0, 1j)
    for path in files(folder):
        path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(RuntimeWarning, match=rf"in '{folder}' cannot be used and is thrown away") as caught:
        assert use(1.0, 1j) == [False, False]
    assert len(caught) == 1
    assert use(1.0, 1j) == [True, True]


def test_files_that_were_swapped_are_noticed(folder):
    use(1.0, 1j)
    use(1.0, function=thrice)
    paths = files(folder)
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, contents[1:] + contents[:1]):
        path.write_bytes(content)
    with pytest.warns(RuntimeWarning, match="not what was written"):
        assert use(1.0, 1j) + use(1.0, function=thrice) == [False] * 3
    assert use(1.0, 1j) + use(1.0, function=thrice) == [True] * 3


def test_a_file_that_names_missing_functions_is_compiled_again(folder, monkeypatch):
    monkeypatch.setattr(code_files.pickle, "dumps", lambda _value: b"cno_such_module\nf\n.")
    use(1.0)
    monkeypatch.undo()
    monkeypatch.setenv("MERGANSER_CACHE_DIR", str(folder.parent))
    monkeypatch.setattr(kept_files, "_said", set())
    with pytest.warns(RuntimeWarning, match="ModuleNotFoundError: No module named 'no_such_module'"):
        assert use(1.0) == [False]
    assert use(1.0) == [True]


def test_functions_of_users_do_without_their_damaged_files(folder):
    y = np.zeros(1)
    for damage in (None, b"", b"garbage"):
        for path in files(folder) if damage is not None else ():
            path.write_bytes(damage)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = CompiledFunction(negated, "ww")
            assert compiled.address() != 0 != compiled.complex_address()
            compiled.call(np.ones(1), y)
        assert y[0] == -1.0 and len(files(folder)) == 4


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_where_nothing_can_be_written_code_is_read_and_one_warning_names_the_folder(folder, monkeypatch, number):
    use(1.0)

    def replace(temporary, path):
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(os, "replace", replace)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert use(1.0) == [True]
    with pytest.warns(
        RuntimeWarning, match=rf"cannot be kept in '{folder}' \({os.strerror(number)}\).*CACHE_DIR"
    ) as caught:
        assert use(1.0, 1j) + use(1.0, function=thrice) == [True, False, False]
    assert len(caught) == 1
    assert len(files(folder)) == 2  # its machine code and bitcode
    assert not kernel(twice).can_be_kept()


def test_filled_cache_that_belongs_to_root_is_read_by_others(folder):
    if os.geteuid() != 0:
        pytest.skip("only root can make such a folder")
    use(1.0)
    folder.parent.chmod(0o755)
    folder.chmod(0o755)
    for path in files(folder):
        path.chmod(0o444)
    before = os.geteuid(), {place: place.stat().st_mode for place in folder.parents}
    for place in list(folder.parents)[1:-1]:
        place.chmod(place.stat().st_mode | 0o055)
    try:
        os.seteuid(65534)
        assert use(1.0) == [True]
        with pytest.warns(RuntimeWarning, match="cannot be kept"):
            assert use(1j) == [False]
    finally:
        os.seteuid(before[0])
        for place, mode in before[1].items():
            place.chmod(mode & 0o7777)


@pytest.mark.parametrize("whose", ["open to others", "of another user"])
def test_folder_that_others_may_write_to_is_not_trusted(folder, monkeypatch, whose):
    use(1.0)
    if whose == "open to others":
        folder.chmod(0o777)
    elif os.geteuid() == 0:
        os.chown(folder, 12345, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 12345)
    count = len(files(folder))
    with pytest.warns(RuntimeWarning, match=rf"in '{folder}' are not used.*because (other|it belongs)") as caught:
        assert use(1.0, 1j) == [False, False]
    assert len(caught) == 1 and len(files(folder)) == count
    assert not kernel(twice).can_be_kept()


def test_folders_unused_for_a_month_are_removed(folder):
    root = folder.parent
    root.mkdir()
    old, new = time.time() - 40 * 24 * 3600.0, time.time() - 20 * 24 * 3600.0
    names = {
        "multibody-kernels-0123456789abcdef": old,
        "user-kernels-fedcba9876543210": old,
        ".user-kernels-fedcba9876543211-removed": old,
        "user-kernels-1111111111111111": new,
        "my-things": old,
        "user-kernels-of-mine": old,
    }
    for name, when in names.items():
        (root / name).mkdir()
        (root / name / "f").touch()
        os.utime(root / name, (when, when))
    (root / "geometry-kernels-2222222222222222").symlink_to(root / "my-things")
    use(1.0)
    names["geometry-kernels-2222222222222222"] = new
    left = names.keys() & {path.name for path in root.iterdir()}
    assert folder.exists() and left == {
        "user-kernels-1111111111111111", "my-things", "user-kernels-of-mine", "geometry-kernels-2222222222222222",
    }  # fmt: skip


def test_reading_marks_a_folder_as_used(folder):
    use(1.0)
    old = time.time() - 40 * 24 * 3600.0
    os.utime(folder, (old, old))
    kept_files._note_use.cache_clear()
    use(1.0)
    assert folder.stat().st_mtime > time.time() - 60.0


def test_process_goes_on_when_its_folder_is_removed(folder):
    use(1.0)
    for path in files(folder):
        path.unlink()
    folder.rmdir()
    assert use(1.0) == [False]
    assert use(1.0) == [True]


def test_empty_name_of_the_folder_is_none(monkeypatch):
    monkeypatch.delenv("MERGANSER_CACHE_DIR", raising=False)
    usual = cache_directory()
    monkeypatch.setenv("MERGANSER_CACHE_DIR", "")
    assert cache_directory() == usual and usual.is_absolute()


# ---------------------------------------------------------------------- modules that cannot be imported by name

_MODULE = """
import numpy as np
from merganser.framework.native import device, kernel, native

@device
def helper(x):
    return 2.0 * x

@native
def f(u, y):
    y[0] = helper(u[0])

@kernel
def k(x_in):
    return helper(x_in)

def use():
    y = np.zeros(1)
    f(np.ones(1), y)
    assert y[0] == k(1.0) == 2.0 and f.operation("ww").address() != 0
    return "ok"
"""

_PROGRAM = """
import importlib.util, sys, warnings
warnings.simplefilter("error")
source = open("plugin_file.py").read()

spec = importlib.util.spec_from_file_location("plugin", "plugin_file.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(module.use())

spec = importlib.util.spec_from_file_location("known_plugin", "plugin_file.py")
module = sys.modules["known_plugin"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(module.use())

names = {}
exec(compile(source, "<cell 1>", "exec"), names)
print(names["use"]())

exec(source)
print(use())
"""


def test_functions_of_modules_without_a_place_run_in_every_process(tmp_path):
    (tmp_path / "plugin_file.py").write_text(_MODULE)
    environment = {**os.environ, "MERGANSER_CACHE_DIR": str(tmp_path / "cache"), "MERGANSER_COMPILE_HELPERS": "0"}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == ["ok"] * 4
