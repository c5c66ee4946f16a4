"""pydrake.common: files, containers, templates, deprecation."""

from __future__ import annotations

import os
import subprocess
import sys
import types
import typing
from pathlib import Path

import numpy as np
import pytest

from merganser.drake import cpp_param, cpp_template, uninstall
from merganser.drake.common import FindResourceOrThrow, pretty_class_name, temp_directory
from merganser.drake.containers import EqualToDict, namedview
from merganser.drake.cpp_param import Dict, List, Optional, Union, get_param_canonical, get_param_names
from merganser.drake.cpp_template import TemplateBase, TemplateClass, TemplateFunction, TemplateMethod, get_or_init
from merganser.drake.deprecation import DrakeDeprecationWarning, ModuleShim, deprecated, deprecated_callable
from merganser.framework import BasicVector_, CalcProbabilityDensity, Parallelism, RandomDistribution
from merganser.framework.autodiff import AutoDiffXd

uninstall()  # other tests of this process are to find pydrake itself, or none


def test_named_views_share_the_vector() -> None:
    View = namedview("View", ["a", "b", "2 c"])
    value = np.array([1.0, 2.0, 3.0])
    view = View(value)
    view.a, value[1] = 10.0, 20.0
    assert View.get_fields() == ("a", "b", "_2_c")
    assert value.tolist() == [10.0, 20.0, 3.0] and (view.b, view[2]) == (20.0, 3.0)
    view[:] = 0.0
    assert not value.any() and np.asarray(view) is value and np.array(view) is not value
    assert View.Zero().a == 0.0 and str(view) == "View(a=0.0, b=0.0, _2_c=0.0)"
    numbers = [1, 2, 3]
    View(numbers).b = 7
    assert numbers == [1, 7, 3] and repr(View(numbers)) == "<View(a=1, b=7, _2_c=3)>"
    with pytest.raises(RuntimeError, match=r"3 fields; given 2 values"):
        View([1.0, 2.0])
    with pytest.raises(AttributeError, match="no field 'd'"):
        view.d = 1.0
    with pytest.raises(ValueError, match="two fields 'a'"):
        namedview("Twice", ["a", "a"])
    of_plant = namedview("OfPlant", ["$world_base_x", "a::b"], sanitize_field_names=False)([1.0, 2.0])
    assert of_plant.get_fields() == ("$world_base_x", "a::b") and getattr(of_plant, "a::b") == 2.0
    with pytest.raises(ValueError, match="a field with an empty name"):
        namedview("Unnamed", ["a", ""])


def test_parallelism() -> None:
    assert [Parallelism(x).num_threads() for x in (False, True, 3)] == [1, os.cpu_count(), 3]
    assert Parallelism().num_threads() == 1 and Parallelism.Max().num_threads() == os.cpu_count()
    assert Parallelism(num_threads=2).num_threads() == 2
    with pytest.raises(RuntimeError, match="at least 1, got 0"):
        Parallelism(0)
    with pytest.raises(TypeError, match="got 'two'"):
        Parallelism("two")  # type: ignore[arg-type]


def test_dictionaries_by_EqualTo() -> None:
    symbolic = pytest.importorskip("merganser.framework.symbolic", reason="needs sympy", exc_type=ImportError)
    x, y = symbolic.Variable("x"), symbolic.Variable("y")
    values = EqualToDict({x: 1})
    values[y] = 2
    assert (values[x], values[y], x in values) == (1, 2, True)
    assert [str(key) for key in values] == ["x", "y"] and [value for _, value in values.items()] == [1, 2]
    assert (
        values.raw() == {x: 1, y: 2}
        and values.get(y) == 2
        and values.pop(x) == 1
        and x not in values
        and len(values) == 1
    )


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
    done = subprocess.run(
        [sys.executable, "-m", "merganser", "run", "program.py"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.strip() == str(share / "arm.urdf"), done.stderr


def test_files_of_drake_are_found_or_reported_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="must start with 'drake/'"):
        FindResourceOrThrow("examples/pendulum/Pendulum.urdf")
    (tmp_path / "drake").mkdir()
    monkeypatch.setenv("DRAKE_RESOURCE_ROOT", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"has no file"):
        FindResourceOrThrow("drake/nothing.urdf")


def test_probability_densities_and_their_slopes() -> None:
    kinds = RandomDistribution
    assert CalcProbabilityDensity(kinds.kUniform, [0.0, 0.9]) == 1.0
    assert (
        CalcProbabilityDensity(kinds.kUniform, [0.5, 1.0]) == CalcProbabilityDensity(kinds.kExponential, [-0.1]) == 0.0
    )
    assert CalcProbabilityDensity(kinds.kExponential, [1.0, 2.0]) == pytest.approx(np.exp(-3.0))
    x = AutoDiffXd(0.7, [1.0])
    density = CalcProbabilityDensity(kinds.kGaussian, [x])
    assert density.value() == pytest.approx(np.exp(-0.245) / np.sqrt(2 * np.pi))
    assert density.derivatives() == pytest.approx([-0.7 * density.value()])


def test_parameters_of_templates_are_canonical() -> None:
    assert get_param_canonical((np.double, np.int32, str)) == (float, int, str)
    assert get_param_names((float, list[int], typing.Optional[str], 3)) == (  # noqa: UP045
        "float", "list[int]", "typing.Optional[str]", "3",
    )  # fmt: skip
    assert List[np.double] == list[float] and Dict[str, np.double] == dict[str, float]
    assert Optional[int] == typing.Optional[int] and Union[int, str] == typing.Union[int, str]  # noqa: UP007, UP045
    with pytest.raises(RuntimeError, match=r"List\[\] takes 1"):
        List[int, str]


def test_templates_of_classes_are_made_when_they_are_asked_for() -> None:
    made = []

    @TemplateClass.define("Box_", param_list=[(float,), (AutoDiffXd,)])
    def Box_(param: typing.Any) -> type:
        (T,) = param
        made.append(T)

        class Impl:
            scalar = T

        return Impl

    assert made == []
    assert Box_[float].scalar is float and Box_[None] is Box_[np.double] and made == [float]
    assert Box_[AutoDiffXd].__name__ == "Box_[AutoDiffXd]" == pretty_class_name(Box_[AutoDiffXd])
    assert pretty_class_name is cpp_param.pretty_class_name is cpp_template.pretty_class_name
    assert Box_.is_instantiation(Box_[float]) and Box_.get_param_set(Box_[float]) == {(float,)}
    assert Box_.is_subclass_of_instantiation(type("Mine", (Box_[AutoDiffXd],), {})) is Box_[AutoDiffXd]
    assert isinstance(Box_, TemplateBase) and isinstance(BasicVector_, TemplateClass)
    with pytest.raises(RuntimeError, match=r"Invalid instantiation: Box_\[str\]"):
        Box_[str]
    with pytest.raises(RuntimeError, match="There is one already"):
        Box_.add_instantiation(float, int)
    Box_.deprecate_instantiation(float, "Use something else.", date="2038-01-19")
    with pytest.warns(DrakeDeprecationWarning, match="2038-01-19"):
        Box_[float]


def test_templates_of_functions_and_methods() -> None:
    scope = types.ModuleType("scope")
    half = get_or_init(scope, "half", TemplateFunction)
    half.add_instantiation(int, lambda x: x // 2)
    half.add_instantiation(float, lambda x: x / 2)
    assert get_or_init(scope, "half", TemplateFunction) is half and half.get_module_name() == "scope"
    assert half[int](3) == 1 and half[float](3) == 1.5 and half(4) == 2

    class Mine:
        size = 3

    Mine.sized = TemplateMethod("sized", Mine)  # type: ignore[attr-defined]
    Mine.sized.add_instantiation(int, lambda self, n: self.size * n)  # type: ignore[attr-defined]
    assert Mine().sized[int](2) == 6  # type: ignore[attr-defined]


def test_names_that_are_deprecated_work_and_warn() -> None:
    class Mine:
        @deprecated("Use new().", date="2038-01-19")
        def old(self) -> int:
            return 1

    @deprecated_callable("Use new() before 2038-01-19.")
    def old() -> int:
        return 2

    with pytest.warns(DrakeDeprecationWarning, match=r"Use new\(\).*2038-01-19") as seen:
        assert (Mine().old(), old()) == (1, 2)
    assert all(each.filename == __file__ for each in seen)
    with pytest.raises(ValueError, match="needs a date"):
        deprecated_callable("Use new().")


def test_modules_may_ask_for_names_that_they_lack() -> None:
    module = types.ModuleType("mine")
    module.__dict__.update(__all__=["here"], here=1)

    def handler(name: str) -> int:
        if name != "there":
            raise AttributeError
        return 2

    shim = ModuleShim(module, handler)
    assert (shim.here, shim.there, dir(shim)) == (1, 2, ["here"])
    with pytest.raises(AttributeError, match="'mine' has no attribute 'nowhere'"):
        shim.nowhere  # noqa: B018


def test_deprecation_warnings_of_drake_are_shown_once() -> None:
    text = (
        "import merganser.drake; merganser.drake.install(shadow=True)\n"
        "from pydrake.common.deprecation import deprecated_callable\n"
        "old = deprecated_callable('Use new() before 2038-01-19.')(lambda: 1)\n"
        "for _ in range(3): old()\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.stderr.count("DrakeDeprecationWarning") == 1
