"""How the repository is laid out: what each trap of the layout would look like."""

from __future__ import annotations

import ast
import collections
import functools
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("framework", "geometry", "analysis", "multibody")
ALLOWED = {
    "framework": {"framework"},
    "geometry": {"framework", "geometry"},
    "analysis": {"framework", "analysis"},
    "multibody": set(PACKAGES),
}
# Rooms of framework, and which others each may import, also inside of functions.
_BELOW: dict[str, set[str]] = {
    "common": set(),
    "core": {"common"},
    "math": {"common", "core"},
    "autodiff": {"common", "core", "math"},
    "symbolic": {"common", "core", "math"},
    "native": {"common", "core", "math"},
    "schema": {"common", "core", "math", "symbolic"},
    "yaml": {"common", "core"},
    "trajectories": {"common", "core", "math", "symbolic", "native"},
    "optimization": {"common", "core", "math", "autodiff", "symbolic", "native"},
    "primitives": {"common", "core", "math", "autodiff", "symbolic", "native", "trajectories"},
    "lcm": {"common", "core", "primitives"},
}
_UPWARD = {  # what is left, to be handed in from above
    "framework/core/system/random_values.py": "native",  # where numpy keeps the words of a generator
}
# What the root module `merganser` gathers besides, and where its folders are (pyproject.toml).
OF_ROOT = {
    "framework/_root": "merganser",
    "framework/_compat": "merganser.drake",
    "examples/plants": "merganser.examples",
}
FOLDERS = (*PACKAGES, "examples/plants")
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements of a file, in whatever they are: a tenth of its nodes."""
    to_do: list[ast.AST] = [tree]
    while to_do:
        node = to_do.pop()
        yield node
        for inside in ("body", "orelse", "finalbody", "handlers", "cases"):
            found = getattr(node, inside, None)
            to_do += found if isinstance(found, list) else []  # an expression in a lambda


@functools.cache
def _imports(path: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in _statements(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module or "")
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


def test_every_package_folder_is_listed_for_the_wheel():
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    folders = {
        init.parent.relative_to(ROOT)
        for folder in FOLDERS
        for init in (ROOT / folder).rglob("__init__.py")
    }
    wanted = {OF_ROOT.get(f.as_posix(), ".".join(("merganser", *f.parts))) for f in folders}
    assert listed == wanted | {"merganser.models"}


def test_every_folder_with_modules_is_a_package():
    assert [str(path) for path in SOURCES if not (path.parent / "__init__.py").exists()] == []


def test_bare_folders_are_never_imported():
    everything = [*SOURCES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "examples").glob("*.py")]
    names = "|".join(PACKAGES)
    bare = re.compile(rf"^\s*(?:from (?:{names})\b[\w.]* import|import (?:.*, )?(?:{names})\b).*", re.MULTILINE)
    offenders = [(path.relative_to(ROOT), found) for path in everything for found in bare.findall(path.read_text())]
    assert offenders == []


def test_imports_point_one_way():
    offenders = []
    for path in SOURCES:
        package = path.relative_to(ROOT).parts[0]
        if any(path.is_relative_to(ROOT / folder) for folder in OF_ROOT):
            continue  # the root module gathers all packages
        for name in _imports(path):
            parts = name.split(".")
            if (
                parts[0] == "merganser"
                and len(parts) > 1
                and parts[1] in PACKAGES
                and parts[1] not in ALLOWED[package]
            ):
                offenders.append(f"{path.relative_to(ROOT)} imports {name}")
    assert offenders == []


@pytest.mark.parametrize("room", _BELOW)
def test_rooms_of_framework_import_one_way(room):
    offenders = []
    for path in sorted((ROOT / "framework" / room).rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        above = {
            parts[2]
            for parts in (name.split(".") for name in _imports(path))
            if parts[:2] == ["merganser", "framework"] and len(parts) > 2 and parts[2] in _BELOW
        }
        above -= {room, *_BELOW[room], _UPWARD.get(file, "")}
        offenders += [f"{file} imports {name}" for name in sorted(above)]
    assert offenders == []


def test_core_imports_nothing_that_compiles():
    files = [path for room in ("common", "core") for path in (ROOT / "framework" / room).rglob("*.py")]
    assert [
        str(path) for path in files if {name.split(".")[0] for name in _imports(path)} & {"numba", "llvmlite"}
    ] == []


def test_reference_is_never_imported_by_the_package():
    assert [
        str(path) for path in SOURCES if any(name.split(".")[0] == "pydrake" for name in _imports(path))
    ] == []


# Where machinery is: rooms of physics and of systems are given functions by framework/native, and hand it arrays.
MACHINERY = {"numba", "llvmlite", "ctypes", "cffi"}
NO_MACHINERY = {  # what looks like it: calls an FMU, asks whether a driver is there
    "analysis/fmi/driver.py imports ctypes",
    "geometry/rendering/vtk_engine/window.py imports ctypes",
}
MAKERS_OF_INSTRUCTIONS = {"carray", "cgutils", "intrinsic", "ir", "Later"}  # of extending.py
OUTSIDE_OF_NATIVE = [
    path
    for path in SOURCES
    if not any(path.is_relative_to(ROOT / "framework" / folder) for folder in ("native", "_root", "_compat"))
]


def test_the_machinery_of_compilation_is_in_one_room():
    offenders = []
    for path in OUTSIDE_OF_NATIVE:
        names = _imports(path)
        used = {name for name in names if name.split(".")[0] in MACHINERY}
        made = {f"merganser.framework.native.compiler.extending.{name}" for name in MAKERS_OF_INSTRUCTIONS} & names
        offenders += [f"{path.relative_to(ROOT)} imports {name}" for name in sorted(used | made)]
    assert set(offenders) == NO_MACHINERY


def test_addresses_of_arrays_are_taken_by_one_function():
    words = (".ctypes", "__array_interface__")
    found = {str(p.relative_to(ROOT)) for p in OUTSIDE_OF_NATIVE if any(word in p.read_text() for word in words)}
    assert found == set()


def test_private_names_of_numba_are_imported_in_one_module():
    public = {"numba", "numba.config", "numba.types", "numba.extending"}
    found = {
        path.name
        for path in SOURCES
        for name in _imports(path)
        if name.split(".")[0] == "numba" and ".".join(name.split(".")[:2]) not in public
    }
    assert found == {"numba_inside.py"}


def test_no_file_is_longer_than_600_lines():
    everything = [*SOURCES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "examples").glob("*.py")]
    assert [str(path) for path in everything if len(path.read_text().splitlines()) > 600] == []


def test_every_package_has_a_readme():
    assert [package for package in PACKAGES if not (ROOT / package / "README.md").exists()] == []


_MOST_FILES = 25


def test_no_folder_has_more_files_than_one_can_survey():
    counts = collections.Counter(path.parent for path in SOURCES)
    assert [str(folder) for folder in counts if counts[folder] > _MOST_FILES] == []
    rooms = [folder for folder in counts if folder.relative_to(ROOT).parts[0] in ("framework", "analysis")]
    assert [str(folder) for folder in rooms if not (folder / "README.md").exists()] == []


def test_folders_of_tests_have_the_paths_of_what_they_test():
    tests = ROOT / "tests"
    folders = [tests / name for name in PACKAGES]
    counts = collections.Counter(path.parent for folder in folders for path in folder.rglob("test_*.py"))
    assert [str(folder) for folder in counts if not (ROOT / folder.relative_to(tests)).is_dir()] == []
    assert [str(folder) for folder in counts if counts[folder] > _MOST_FILES] == []


def test_every_module_begins_with_a_sentence_that_says_what_it_holds():
    """The pages of folders list these."""
    modules = [path for path in SOURCES if path.name != "__init__.py"]
    first = {path: (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0] for path in modules}
    assert [str(path) for path, text in first.items() if not text.endswith((".", ":"))] == []


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("merganser", {"numpy", "numba", "scipy", "matplotlib", "networkx", "lxml"}),
        ("merganser.framework", {"numba", "scipy", "matplotlib", "lxml"}),
        ("merganser.analysis", {"numba", "scipy", "matplotlib", "lxml"}),
        ("merganser.geometry", {"numba", "scipy", "matplotlib", "trimesh", "merganser.geometry.visualizers"}),
        (
            "merganser.framework.optimization",
            {"numba", "scipy", "scipy.optimize", "sympy", "clarabel", "matplotlib", "merganser.multibody"},
        ),
        ("merganser.geometry.optimization", {"numba", "scipy", "sympy", "clarabel", "matplotlib"}),
        ("merganser.framework.lcm", {"lcm", "numba", "scipy", "merganser.framework.lcm.messages.viewers"}),
        (
            "merganser.geometry.visualizers",
            {"numba", "scipy", "trimesh", "tornado", "umsgpack", "asyncio", "zipfile", "merganser.framework.lcm"},
        ),
        (
            "merganser.multibody.plant",
            {"numba", "llvmlite", "scipy", "matplotlib", "networkx", "sympy", "lxml", "merganser.framework.lcm"},
        ),
        (
            "merganser.all",
            {"numba", "llvmlite", "scipy", "matplotlib", "networkx", "sympy", "rich", "trimesh", "tornado"}
            | {"merganser.multibody.visualization", "merganser.framework.optimization"},
        ),
        ("merganser.multibody.visualization", {"numba", "scipy", "matplotlib", "tornado", "webbrowser"}),
    ],
)
def test_import_is_light(module, forbidden):
    code = f"import sys, {module}; print(*sorted(sys.modules))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert forbidden & set(output.split()) == set()


def test_packages_are_loaded_when_they_are_first_used():
    code = """
import sys
import merganser
assert "numpy" not in sys.modules and merganser.__version__
assert merganser.framework.primitives.Gain and merganser.multibody.plant.MultibodyPlant
assert merganser.analysis.controllers and merganser.geometry.SceneGraph
for package in (merganser, merganser.framework, merganser.analysis, merganser.multibody):
    try:
        package.misspelt
    except AttributeError as error:
        assert "misspelt" in str(error) and package.__name__ in str(error)
    else:
        raise AssertionError(package)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_models_of_examples_come_with_the_package():
    code = "import merganser.models as m, os; print(*sorted(os.listdir(m.__path__[0])))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/").stdout
    assert {"arm7.urdf", "cart_pole.sdf", "gripper.xml"} <= set(output.split())


def test_derivatives_do_not_load_symbols():
    code = """
import sys
from merganser.analysis import Simulator_
from merganser.framework import DiagramBuilder_
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.primitives import Gain, Gain_
from merganser.multibody.tree import MultibodyForces_
system = Gain_[None](1.0, 1).ToAutoDiffXd()
assert type(system) is Gain_[AutoDiffXd] and issubclass(Gain_[AutoDiffXd], Gain)
Simulator_[AutoDiffXd](system).AdvanceTo(1.0)
assert DiagramBuilder_[AutoDiffXd] and MultibodyForces_[AutoDiffXd]
assert "sympy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_of_all_packages_are_loaded_when_they_are_asked_for():
    code = """
import sys
import merganser.all as everything
assert "merganser.multibody.plant" not in sys.modules and "sympy" not in sys.modules
from merganser.all import Expression, Polynomial, sin
from merganser.framework import math, symbolic
assert Expression is symbolic.Expression and Polynomial is symbolic.Polynomial and sin is math.sin
names = {}
exec("from merganser.all import *", names)
assert names["sin"] is math.sin and "MultibodyPlant" in names and "lazy_names" not in names
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT.parent)


def _public_packages() -> list[str]:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    return sorted(set(listed) - {"merganser.models"}) + ["merganser.all"]


@pytest.mark.parametrize("package", _public_packages())
def test_every_public_name_is_there_also_if_it_is_imported_late(package):
    module = importlib.import_module(package)
    missing = [name for name in getattr(module, "__all__", ()) if not hasattr(module, name)]
    assert missing == []
    assert set(getattr(module, "__all__", ())) <= set(dir(module))


def test_a_name_that_a_package_does_not_have_is_refused_by_name():
    import merganser.analysis

    with pytest.raises(AttributeError, match=r"module 'merganser\.analysis' has no attribute 'Simulatr'"):
        merganser.analysis.Simulatr  # noqa: B018
    with pytest.raises(ImportError, match="Simulatr"):
        from merganser.analysis import Simulatr  # noqa: F401


def test_programs_wait_only_for_what_they_use():
    program = """
import sys
from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
import merganser.all
print(*(module for module in sys.modules if module.startswith("merganser.")))
"""
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    late = (
        "analysis.batches", "analysis.plots", "analysis.integrators.radau", "framework.optimization",
        "framework.primitives.linear", "framework.schema", "framework.symbolic", "geometry.rendering",
        "geometry.visualizers", "multibody.fem.material_derivatives", "multibody.inverse_kinematics",
        "multibody.parsing.mjcf", "multibody.parsing.urdf_and_sdf.sdf", "multibody.parsing.urdf_and_sdf.urdf",
    )  # fmt: skip
    assert [name for name in loaded if name.removeprefix("merganser.").startswith(late)] == []


@pytest.mark.parametrize(
    "package",
    ["merganser", "merganser.framework", "merganser.analysis", "merganser.multibody.plant", "merganser.geometry"],
)
def test_faces_show_names_for_users_only(package: str) -> None:
    """Of modules, packages with names of their own."""
    code = (
        f"import merganser.all, types, {package} as p\n"
        "print([n for n in dir(p) if isinstance(vars(p).get(n), types.ModuleType)"
        " and not (getattr(vars(p)[n], '__all__', ()) and hasattr(vars(p)[n], '__path__')) and n not in"
        " ('all', 'multibody')], [n for n in dir(p) if n.startswith('_') and not n.startswith('__')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[] []"


@pytest.mark.parametrize(
    ("name", "home"),
    [("math", "merganser.framework.math"), ("solvers", "merganser.framework.optimization"),
     ("plant", "merganser.multibody.plant"), ("primitives", "merganser.framework.primitives")],
)  # fmt: skip
def test_an_import_from_a_place_of_pydrake_says_where_the_module_is(name: str, home: str) -> None:
    for statement in (f"import merganser.{name}", f"from merganser import {name}"):
        with pytest.raises(ModuleNotFoundError, match=rf"no module 'merganser.{name}'; import {home}\b"):
            exec(statement)
    assert not hasattr(importlib.import_module("merganser"), name)
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'merganser\.nowhere'"):
        exec("import merganser.nowhere")


def test_solvers_of_multibody_know_nothing_of_what_uses_them() -> None:
    """A step knows deformable bodies, these know contact and fem, and those two only the factorization of both."""
    users = {
        "linear": ("contact", "deformable", "dynamics", "fem", "kernels", "plant", "tree"),
        "contact": ("deformable", "dynamics", "fem", "plant", "tree"),
        "fem": ("contact", "dynamics", "plant", "tree"),
        "deformable/kernels": ("dynamics", "plant", "tree"),
        "dynamics": ("plant", "tree"),
    }
    offenders = [
        f"{path.relative_to(ROOT)} imports {name}"
        for room, unknown in users.items()
        for path in (ROOT / "multibody" / room).rglob("*.py")
        for name in _imports(path)
        if name.startswith(tuple(f"merganser.multibody.{other}" for other in unknown))
    ]
    assert offenders == []
