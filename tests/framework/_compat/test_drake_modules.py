"""Programs written for pydrake run with this package in its place."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from merganser.drake import missing_names, modules, names_taken_away, uninstall
from merganser.drake.addresses import ADDRESSES, names_of

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


# Names of pydrake.solvers and pydrake.lcm are missing here, whether or not merganser has them.
WITHOUT = "import merganser.drake.addresses as a; a.ADDRESSES.pop('solvers', None), a.ADDRESSES.pop('lcm', None)\n"

MISSING = (
    WITHOUT
    + """
import copy
from pydrake.all import Gain
from pydrake.solvers import MathematicalProgram, Solve
import pydrake.geometry.optimization

def solve(program: MathematicalProgram | None, kind: Solve[float] = copy.copy(Solve)):
    assert not isinstance(program, MathematicalProgram)

solve(Gain(1.0, 1))
print("before")
{}
"""
)


@pytest.mark.parametrize(
    "use", ["Solve(1)", "MathematicalProgram.foo", "Solve[float](1)", "class Mine(MathematicalProgram): pass"]
)
def test_what_is_missing_is_named_when_it_is_used(tmp_path: Path, use: str) -> None:
    path = tmp_path / "optimize.py"
    path.write_text(MISSING.format(use))
    done = run("-m", "merganser", "run", path, folder=tmp_path)
    assert done.stdout == "before\n"
    name, other = ("MathematicalProgram", "Solve") if "Mathem" in use else ("Solve", "MathematicalProgram")
    written = "Solve[float]" if "[" in use else name
    assert (
        f"NotInMerganserError: merganser has no pydrake.solvers.{written}. optimize.py would also miss" in done.stderr
    )
    assert f"pydrake.solvers.{other}" in done.stderr.splitlines()[-1]


def test_what_is_missing_of_all_that_is_imported_is_named_when_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "all.py").write_text(WITHOUT + "from pydrake.all import *\nprint(np.pi, Gain)\nprogram = Solve()\n")
    done = run("-m", "merganser", "run", "all.py", folder=tmp_path)
    assert done.stdout.startswith("3.14")
    assert done.stderr.splitlines()[-1] == (
        "merganser.drake.modules.NotInMerganserError: merganser has no pydrake.all.Solve."
    )


def test_what_pydrake_does_not_have_either_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(
        "try:\n    from pydrake.multibody.plant import Plnat\nexcept ImportError as error:\n    print(error.name)\n"
        "import pydrake.systems.famework\n"
    )
    done = run("-m", "merganser", "run", "wrong.py", folder=tmp_path)
    assert done.stdout == "pydrake.multibody.plant\n"
    assert "ModuleNotFoundError: No module named 'pydrake.systems.famework'" in done.stderr


def test_modules_are_found_as_attributes_of_those_around_them(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import pydrake.all\nimport pydrake.systems.all as s\n"
        "print(pydrake.math.inv.__name__, s.Gain is pydrake.all.Gain)\n"
    )
    assert run("-m", "merganser", "run", "program.py", folder=tmp_path).stdout == "inv True\n"


# -- running --------------------------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "arm"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "inner" / "__init__.py").write_text("from pydrake.lcm import DrakeLcm\n")
    (folder / "inner" / "deep.py").write_text(
        "from ..helper import two\nfrom pydrake.math import inv\nfour = two + two\n"
    )
    (folder / "helper.py").write_text("two = 2\n")
    (folder / "__main__.py").write_text(
        "import sys\nfrom .inner.deep import four\nprint(four, sys.argv[1:], __name__, __package__)\nsys.exit(5)\n"
    )
    return folder


def test_packages_are_run_by_name_with_relative_imports(package: Path) -> None:
    done = run("-m", "merganser", "run", "-m", "arm", "--fast", "1", folder=package.parent)
    assert (done.stdout, done.returncode) == ("4 ['--fast', '1'] __main__ arm\n", 5), done.stderr
    nothing = run("-m", "merganser", "run", "-m", "leg", folder=package.parent)
    assert nothing.returncode == 1 and nothing.stderr.splitlines()[-1].endswith("No module named leg")


def test_programs_import_packages_beside_them_not_where_they_are_started(package: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "arm.py").write_text("raise SystemExit(7)\n")
    (tmp_path / "program.py").write_text("from arm.inner import deep\nprint(deep.four, __file__)\n")
    done = run("-m", "merganser", "run", tmp_path / "program.py", folder=elsewhere)
    assert done.stdout == f"4 {tmp_path / 'program.py'}\n", done.stderr
    (tmp_path / "__main__.py").write_text("import program\n")
    assert run("-m", "merganser", "run", tmp_path, folder=elsewhere).stdout == done.stdout


def test_tracebacks_begin_at_the_lines_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys\ndef fail():\n    1 / 0  # here\n\nfail()\n")
    (tmp_path / "broken.py").write_text("def f(:\n")
    done = run("-m", "merganser", "run", "program.py", folder=tmp_path)
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and len(re.findall("File ", done.stderr)) == 2
    assert lines[0].startswith("Traceback") and lines[1] == f'  File "{tmp_path / "program.py"}", line 5, in <module>'
    assert "1 / 0  # here" in done.stderr and lines[-1] == "ZeroDivisionError: division by zero"
    broken = run("-m", "merganser", "run", "broken.py", folder=tmp_path)
    assert broken.stderr.splitlines()[0].endswith('broken.py", line 1') and "SyntaxError" in broken.stderr


def test_classes_of_a_program_are_pickled_and_threads_outlast_its_last_line(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import pickle, threading, time\n"
        "class Mine: pass\n"
        "def later():\n    time.sleep(0.2)\n    print(type(pickle.loads(pickle.dumps(Mine()))) is Mine)\n"
        "threading.Thread(target=later).start()\n"
    )
    assert run("-m", "merganser", "run", "program.py", folder=tmp_path).stdout == "True\n"


def notebook(*cells: str) -> str:
    code = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": ["# Title"]}, *code], "nbformat": 4})


def test_notebooks_run_and_are_checked(tmp_path: Path) -> None:
    (tmp_path / "study.ipynb").write_text(
        notebook(
            "%matplotlib inline\n!pip install something\nfrom pydrake.math import inv\nimport pydrake.all as d\n",
            "%%time\nif True:\n    %autoreload 2\n    x = 3\n",
            "%%bash\nls | wc\n",
            "print(x, __name__, d.Gain.__name__)\ndisplay('shown')\nd.NotThere\n",
        )
    )
    done = run("-m", "merganser", "run", "study.ipynb", folder=tmp_path)
    assert done.stdout.splitlines()[0] == "3 __main__ Gain" and "shown" in done.stdout, done.stderr
    assert "cell 1: '!pip install something' is for IPython and is left out." in done.stderr
    assert "cell 3: '%%bash' is for IPython" in done.stderr and "autoreload" not in done.stderr
    assert f'File "{tmp_path / "study.ipynb"}, cell 4", line 3, in <module>\n    d.NotThere' in done.stderr
    check = run("-m", "merganser", "check", "study.ipynb", folder=tmp_path)
    assert check.stdout.splitlines()[0] == "study.ipynb, cell 4:3: pydrake.all.NotThere (nor has pydrake 1.51)"
    (tmp_path / "empty.ipynb").write_text("[]")
    assert run("-m", "merganser", "check", "empty.ipynb", folder=tmp_path).stderr.startswith("error: '")


# -- checking -------------------------------------------------------------------------------------------------


def test_missing_names_are_listed_with_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(ADDRESSES, "lcm", raising=False)
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
        "import pydrake.lcm as lcm\n"
    )
    found = missing_names(path)
    assert [(entry.file.name, entry.line, entry.name, entry.in_pydrake) for entry in found] == [
        ("program.py", 6, "pydrake.all.StartNothing", False),
        ("program.py", 7, "pydrake.systems.framework.Root", False),
        ("program.py", 8, "pydrake.math.hat", False),
        ("program.py", 9, "pydrake.lcm", True),
        ("beside.py", 1, "pydrake.lcm.DrakeLcm", True),
    ]
    assert str(found[-1]) == "beside.py:1: pydrake.lcm.DrakeLcm"
    done = run("-m", "merganser", "check", "program.py", folder=tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "program.py:6: pydrake.all.StartNothing (nor has pydrake 1.51)"
    assert re.fullmatch(r"program.py: \d names of pydrake missing", done.stdout.splitlines()[-1])
    (tmp_path / "complete.py").write_text("from pydrake.math import sin\n")
    done = run("-m", "merganser", "check", "program.py", "complete.py", folder=tmp_path)
    assert done.returncode == 1 and done.stdout.splitlines()[-1] == "complete.py: no names of pydrake missing"


def test_packages_beside_a_program_are_checked_too(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(ADDRESSES, "lcm", raising=False)
    program = package.parent / "program.py"
    program.write_text("from arm.inner.deep import four\n")
    for start in (program, package):
        assert [str(entry) for entry in missing_names(start)] == ["__init__.py:1: pydrake.lcm.DrakeLcm"]


def test_a_program_that_misses_nothing_passes_the_check(program: Path) -> None:
    assert missing_names(program) == []
    assert run("-m", "merganser", "check", program, folder=program.parent).returncode == 0


def test_a_file_that_is_not_there_or_no_python_is_an_error_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    for command, file in (("run", "nowhere.py"), ("check", "nowhere.py"), ("check", "broken.py")):
        done = run("-m", "merganser", command, file, folder=tmp_path)
        assert done.returncode == 1 and done.stderr.startswith("error: ") and file in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("module", ADDRESSES)
def test_every_address_has_names_of_pydrake(module: str) -> None:
    names = names_of(module)
    found = [name for name in names if has(module, name)]
    assert found or not names  # programs, such as fix_inertia


def has(module: str, name: str) -> bool:
    try:
        return modules.look_up(module, name) is not None
    except AttributeError:
        return False


def test_methods_that_classes_lack_are_listed_where_an_object_is_of_one_class(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "from pydrake.all import *\n"
        "import pydrake.systems.primitives as prim\n"
        "builder = DiagramBuilder()\n"
        "plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.0)\n"
        "plant.CalcMassMatrix(None), plant.CalcMassMatrixx(None), scene_graph.RegisterNothing()\n"
        "gain = builder.AddSystem(prim.Gain(1.0, 1))\n"
        "gain.get_gainn(), gain.get_name(), gain.note\n"
        "either = Gain(1.0, 1)\n"
        "either = 3\n"
        "either.NothingOf()\n"
        "def f(p: MultibodyPlant, q):\n"
        "    p.Finalise(), p.Finalize(), q.Finalise()\n"
    )
    assert [(entry.line, entry.name.removeprefix("pydrake.")) for entry in missing_names(path)] == [
        (5, "geometry.SceneGraph.RegisterNothing"),
        (5, "multibody.plant.MultibodyPlant.CalcMassMatrixx"),
        (7, "systems.primitives.Gain.get_gainn"),
        (12, "all.MultibodyPlant.Finalise"),
    ]


def test_what_newer_versions_of_drake_lack_is_named_with_what_is_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "from pydrake.systems.analysis import SimulatorConfig\n"
        "import pydrake.multibody.plant as mp\n"
        "plant = mp.MultibodyPlant(0.001)\n"
        "plant.set_discrete_contact_approximation(mp.DiscreteContactApproximation.kTamsi)\n"
        "plant.SetDefaultFreeBodyPose(None, None), plant.SetDefaultFloatingBaseBodyPose(None, None)\n"
        "SimulatorConfig(publish_every_time_step=True)\n"
    )
    found = names_taken_away(tmp_path / "program.py")
    assert [entry.line for entry in found] == [4, 5, 6]
    assert str(found[1]) == (
        "program.py:5: pydrake.multibody.plant.MultibodyPlant.SetDefaultFreeBodyPose is not in Drake 1.58; there: "
        "SetDefaultFloatingBaseBodyPose"
    )
