"""Programs written for pydrake run with this package in its place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from merganser.drake import missing_names, modules, uninstall
from merganser.drake.addresses import ADDRESSES, WITHOUT_COUNTERPART
from merganser.drake.common import FindResourceOrThrow, Parallelism, temp_directory
from merganser.drake.containers import EqualToDict, namedview
from merganser.drake.untyped_yaml import yaml_dump, yaml_load, yaml_load_file

uninstall()  # other tests of this process are to find pydrake itself, or none

ORDINARY = """
import sys
import numpy as np
import pydrake.math
import pydrake.systems.analysis as analysis
from beside import answer
from pydrake import symbolic
from pydrake.all import AddMultibodyPlantSceneGraph, DiagramBuilder
from pydrake.multibody.tree import SpatialInertia
from pydrake.systems.primitives import *

assert __name__ == "__main__" and answer == 42
builder = DiagramBuilder()
plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
plant.Finalize()
builder.AddSystem(Gain(2.0, 1))
simulator = analysis.Simulator(builder.Build())
simulator.AdvanceTo(float(sys.argv[1]))
height = plant.GetPositions(plant.GetMyContextFromRoot(simulator.get_context()))[-1]
x = symbolic.Variable("x")
print(pydrake.math.RotationMatrix().IsExactlyIdentity(), round(height, 5), x)
"""


def run(*arguments: object, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "beside.py").write_text("answer = 42\n")
    path = tmp_path / "program.py"
    path.write_text(ORDINARY)
    return path


def test_a_program_for_pydrake_runs_as_it_is(program: Path) -> None:
    done = run("-m", "merganser", "run", program, "0.5", folder=program.parent)
    assert done.stdout == "True -1.22625 x\n", done.stderr


def test_importing_one_module_makes_the_imports_of_pydrake_work(program: Path) -> None:
    program.write_text("import merganser.drake; merganser.drake.install(shadow=True)\n" + ORDINARY)
    done = run(program, "0.5", folder=program.parent)
    assert done.stdout.startswith("True"), done.stderr


def test_an_installed_pydrake_is_not_shadowed_unless_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "pydrake").mkdir()
    (tmp_path / "pydrake" / "__init__.py").write_text("is_itself = True\n")
    text = "import merganser.drake\n{}\nimport pydrake; print(hasattr(pydrake, '__path__'), pydrake.__doc__ is None)"
    given = {"folder": tmp_path, "PYTHONPATH": str(tmp_path)}
    left_alone = run("-c", text.format(""), **given)
    assert left_alone.stdout == "True True\n"
    assert "merganser.drake.install(shadow=True)" in left_alone.stderr
    shadowed = run("-c", text.format("merganser.drake.install(shadow=True)"), **given)
    assert shadowed.stdout == "True False\n" and shadowed.stderr == ""


def test_pydrake_cannot_be_shadowed_once_it_has_been_imported(tmp_path: Path) -> None:
    (tmp_path / "pydrake.py").write_text("")
    text = "import pydrake, merganser.drake\nmerganser.drake.install(shadow=True)"
    done = run("-c", text, folder=tmp_path, PYTHONPATH=str(tmp_path))
    assert "RuntimeError: pydrake itself has been imported already" in done.stderr


MISSING = """
from pydrake.all import Gain
from pydrake.solvers import MathematicalProgram, Solve
import pydrake.geometry.optimization as optimization

def solve(program: MathematicalProgram):
    assert not isinstance(program, MathematicalProgram)

solve(Gain(1.0, 1))
print("before")
{}
"""


@pytest.mark.parametrize(
    "use", ["Solve(1)", "MathematicalProgram.foo", "Solve[float]", "class Mine(MathematicalProgram): pass"]
)
def test_what_is_missing_is_named_when_it_is_used(tmp_path: Path, use: str) -> None:
    path = tmp_path / "optimize.py"
    path.write_text(MISSING.format(use))
    done = run("-m", "merganser", "run", path, folder=tmp_path)
    assert done.stdout == "before\n"
    name, other = ("MathematicalProgram", "Solve") if "Mathem" in use else ("Solve", "MathematicalProgram")
    assert f"NotInMerganserError: merganser has no pydrake.solvers.{name}. optimize.py would also miss" in done.stderr
    assert f"pydrake.solvers.{other}" in done.stderr.splitlines()[-1]


def test_a_module_that_pydrake_does_not_have_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("import pydrake.systems.famework\n")
    done = run("-m", "merganser", "run", "wrong.py", folder=tmp_path)
    assert "ModuleNotFoundError: No module named 'pydrake.systems.famework'" in done.stderr


def test_missing_names_are_listed_with_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("from pydrake.lcm import DrakeLcm\n")
    path = tmp_path / "program.py"
    path.write_text(
        "from beside import DrakeLcm\n"
        "import pydrake.all as d\n"
        "import pydrake.systems.framework\n"
        "from pydrake.math import *\n"
        "builder = d.DiagramBuilder()\n"
        "meshcat = d.StartNothing(builder)\n"
        "pydrake.systems.framework.LeafSystem, pydrake.systems.framework.Root\n"
        "print([inv(x) for x in (1, 2)], hat(3))\n"
    )
    found = [(entry.file.name, entry.line, entry.name) for entry in missing_names(path)]
    assert found == [
        ("program.py", 6, "pydrake.all.StartNothing"),
        ("program.py", 7, "pydrake.systems.framework.Root"),
        ("program.py", 8, "pydrake.math.hat"),
        ("beside.py", 1, "pydrake.lcm.DrakeLcm"),
    ]
    done = run("-m", "merganser", "check", "program.py", folder=tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "program.py:6: pydrake.all.StartNothing"
    assert done.stdout.splitlines()[-1] == "program.py: 4 names of pydrake missing"


def test_a_program_that_misses_nothing_passes_the_check(program: Path) -> None:
    assert missing_names(program) == []
    assert run("-m", "merganser", "check", program, folder=program.parent).returncode == 0


def test_a_file_that_is_not_there_or_no_python_is_an_error_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    for command, file in (("run", "nowhere.py"), ("check", "nowhere.py"), ("check", "broken.py")):
        done = run("-m", "merganser", command, file, folder=tmp_path)
        assert done.returncode == 1 and done.stderr.startswith("error: ") and file in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("module", [module for module, homes in ADDRESSES.items() if homes])
def test_every_address_has_names(module: str) -> None:
    names = modules.names_of(module)
    assert names and all(modules.look_up(module, name) is not None for name in names[:5])


def test_no_module_is_both_there_and_without_counterpart() -> None:
    assert not WITHOUT_COUNTERPART & set(ADDRESSES)


# -- pydrake.common -------------------------------------------------------------------------------------------


def test_named_views_share_the_vector() -> None:
    View = namedview("View", ["a", "b", "2 c"])
    value = np.array([1.0, 2.0, 3.0])
    view = View(value)
    view.a, value[1] = 10.0, 20.0
    assert View.get_fields() == ("a", "b", "_2_c")
    assert value.tolist() == [10.0, 20.0, 3.0] and (view.b, view[2]) == (20.0, 3.0)
    view[:] = 0.0
    assert not value.any() and np.asarray(view) is value and np.array(view) is not value
    assert View.Zero().a == 0.0 and repr(view) == "View(a=0.0, b=0.0, _2_c=0.0)"
    with pytest.raises(RuntimeError, match=r"3 fields; given a value of shape \(2,\)"):
        View([1.0, 2.0])
    with pytest.raises(AttributeError, match="no field 'd'"):
        view.d = 1.0
    with pytest.raises(ValueError, match="two fields 'a'"):
        namedview("Twice", ["a", "a"])


def test_parallelism() -> None:
    assert [Parallelism(x).num_threads() for x in (False, True, 3)] == [1, os.cpu_count(), 3]
    assert Parallelism().num_threads() == 1 and Parallelism.Max().num_threads() == os.cpu_count()
    assert Parallelism(num_threads=2).num_threads() == 2
    with pytest.raises(RuntimeError, match="at least 1, got 0"):
        Parallelism(0)


def test_dictionaries_by_EqualTo() -> None:
    symbolic = pytest.importorskip("merganser.framework.symbolic", reason="needs sympy", exc_type=ImportError)
    x, y = symbolic.Variable("x"), symbolic.Variable("y")
    values = EqualToDict({x: 1})
    values[y] = 2
    assert (values[x], values[y], x in values) == (1, 2, True)
    assert [str(key) for key in values] == ["x", "y"] and [value for _, value in values.items()] == [1, 2]
    assert values.get(y) == 2 and values.pop(x) == 1 and x not in values and len(values) == 1


def test_yaml_without_a_schema(tmp_path: Path) -> None:
    text = "_anchor: &a [1, 2]\nb: !Kind {c: 1.5, d: *a}\n"
    assert yaml_load(data=text) == {"b": {"c": 1.5, "d": [1, 2], "_tag": "!Kind"}}
    path = tmp_path / "file.yaml"
    assert yaml_dump(yaml_load(data=text, private=True), filename=path) is None
    assert yaml_load_file(path, private=True)["_anchor"] == [1, 2]
    assert yaml_load(filename=path)["b"]["_tag"] == "!Kind"
    with pytest.raises(RuntimeError, match="exactly one"):
        yaml_load()


def test_temporary_folders_are_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_TMPDIR", str(tmp_path))
    first, second = temp_directory(), temp_directory()
    assert first != second and Path(first).parent == tmp_path and Path(second).is_dir()


def test_files_of_an_installed_drake_are_found_by_programs_that_run_without_it(tmp_path: Path) -> None:
    share = tmp_path / "pydrake" / "share" / "drake"
    share.mkdir(parents=True)
    (tmp_path / "pydrake" / "__init__.py").write_text("")
    (share / "arm.urdf").write_text("<robot name='arm'/>")
    (tmp_path / "program.py").write_text(
        "from pydrake.common import FindResourceOrThrow\nprint(FindResourceOrThrow('drake/arm.urdf'))\n"
    )
    done = run("-m", "merganser", "run", "program.py", folder=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.stdout.strip() == str(share / "arm.urdf"), done.stderr


def test_files_of_drake_are_found_or_told_to_be_missing() -> None:
    with pytest.raises(RuntimeError, match="must start with 'drake/'"):
        FindResourceOrThrow("examples/pendulum/Pendulum.urdf")
    with pytest.raises(RuntimeError, match=r"which is not installed|has no file"):
        FindResourceOrThrow("drake/nothing.urdf")
