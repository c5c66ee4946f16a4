"""Derivatives of where deformable bodies are by what they are made of: closed forms, differences, and refusals."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
import pytest
from soft_bodies import config
from soft_materials import SAINT_VENANT_KIRCHHOFF
from soft_scenes import SoftScene

from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.geometry import Box, GeometryInstance
from merganser.multibody.fem import MaterialModel, differentiate_equilibrium, differentiate_motion
from merganser.multibody.fem.materials import neo_hookean
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from merganser.multibody.tree import ForceDensityField, PrismaticJoint, SpatialInertia

EACH = pytest.mark.parametrize("model", list(MaterialModel), ids=lambda model: model.name)
NUMBERS = (
    "youngs_modulus", "poissons_ratio", "mass_density", "mass_damping_coefficient", "stiffness_damping_coefficient",
)  # fmt: skip
G, H = 9.81, 0.01


class Spring(ForceDensityField):
    """Pulls towards the plane y = 0, and the more the larger an element has become."""

    def DoEvaluateAt(self, context: Any, p_WQ: Any) -> Any:
        return np.array([0.0, -2e4 * p_WQ[1], 1e3])


class Bar:
    """A bar along z that hangs from the plane z = 0, or sticks out of it."""

    def __init__(self, gravity: Any = (0.0, 0.0, -G), size: Any = (0.1, 0.1, 0.3), field: Any = None, **material: Any):
        builder = DiagramBuilder()
        self.plant, _ = AddMultibodyPlantSceneGraph(builder, H)
        self.plant.mutable_gravity_field().set_gravity_vector(np.array(gravity))
        model = self.plant.mutable_deformable_model()
        geometry = GeometryInstance(RigidTransform([0.0, 0.0, -0.5 * size[2]]), Box(*size), "bar")
        self.body = model.GetBody(model.RegisterDeformableBody(geometry, config(**material), 0.1))
        self.body.SetWallBoundaryCondition([0.0, 0.0, -1e-6], [0.0, 0.0, -1.0])
        if field is not None:
            model.AddExternalForce(field)
        self.plant.Finalize()
        self.diagram = builder.Build()
        self.root = self.diagram.CreateDefaultContext()
        self.context = self.plant.GetMyMutableContextFromRoot(self.root)


def slope_of(results: Any, material: Any, name: str) -> Any:
    """The derivative of results(material) by a number of it: a difference of fourth order."""

    def at(share: float) -> Any:
        other = copy.copy(material)
        getattr(other, f"set_{name}")(value * (1.0 + share))
        return results(other)

    value, step = getattr(material, name)(), 1e-3
    near, far = (at(share) - at(-share) for share in (step, 2.0 * step))
    return (8.0 * near - far) / (12.0 * step * value)


def test_the_tip_of_a_bar_that_hangs_by_its_end_follows_the_closed_form() -> None:
    """u = density g L^2 / (2 E), at nu = 0 to the error of the mesh; derivatives are -u / E and u / density."""
    E, density = 1e5, 1000.0
    bar = Bar(model=MaterialModel.kLinear, E=E, nu=0.0)
    found = differentiate_equilibrium(bar.body, bar.context, ["youngs_modulus", "mass_density"])
    at_tip = bar.body.reference_positions().reshape(-1, 3)[:, 2] < -0.3 + 1e-9
    u = -0.3 - found.p_WV[2, at_tip].mean()
    assert u == pytest.approx(density * G * 0.09 / (2.0 * E), rel=2e-3)
    assert found.dp_WV["youngs_modulus"][2, at_tip].mean() == pytest.approx(u / E, rel=1e-9)
    assert found.dp_WV["mass_density"][2, at_tip].mean() == pytest.approx(-u / density, rel=1e-9)
    assert not found.v_WV.any() and not found.dv_WV["youngs_modulus"].any()


@EACH
def test_rest_changes_as_differences_of_it_do(model: MaterialModel) -> None:
    bar = Bar((3.0, 1.0, -G), model=model, E=3e5, field=Spring(), averages_volume=model == MaterialModel.kCorotated)
    bar.body.config().set_relative_tolerance(1e-14)
    found = differentiate_equilibrium(bar.body, bar.context, NUMBERS)
    for name in NUMBERS[:3]:
        slope = slope_of(
            lambda other: differentiate_equilibrium(bar.body, bar.context, [], other).p_WV, bar.body.config(), name
        )
        assert found.dp_WV[name] == pytest.approx(slope, abs=1e-8 * abs(slope).max())
    assert not found.dp_WV["mass_damping_coefficient"].any()
    assert not found.dp_WV["stiffness_damping_coefficient"].any()


@pytest.mark.parametrize("averages_volume", [False, True], ids=["elements", "patches"])
@pytest.mark.parametrize("start", ["undeformed", "swinging", "squeezed"])
@EACH
def test_motion_changes_as_differences_of_it_do(model: MaterialModel, start: str, averages_volume: bool) -> None:
    """From equal stretches, in swing, and where the damping leaves out negative stiffness."""
    material = config(model, 1e5, mass_damping=2.0, damping=0.02, averages_volume=averages_volume)
    material.set_relative_tolerance(1e-14)
    bar = Bar((3.0, 1.0, -G), (0.1, 0.1, 0.2), field=Spring(), E=5e5)
    n, random = bar.body.num_dofs() // 3, np.random.default_rng(1)
    if start != "undeformed":
        bar.body.SetVelocities(bar.context, random.normal(size=(3, n)))
    if start == "squeezed":
        q = bar.body.GetPositions(bar.context) * [[1.0], [1.0], [0.45]]
        bar.body.SetPositions(bar.context, q + 0.02 * random.normal(size=(3, n)))
    before = bar.body.GetPositionsAndVelocities(bar.context)

    def after(other: Any) -> Any:
        found = differentiate_motion(bar.body, bar.context, num_steps, [], other)
        return np.vstack([found.p_WV, found.v_WV])

    num_steps = 1 if start == "undeformed" else 2
    found = differentiate_motion(bar.body, bar.context, num_steps, NUMBERS, material)
    for name in NUMBERS:
        slope = slope_of(after, material, name)
        assert np.vstack([found.dp_WV[name], found.dv_WV[name]]) == pytest.approx(slope, abs=1e-8 * abs(slope).max())
    assert (bar.body.GetPositionsAndVelocities(bar.context) == before).all()


def test_a_programs_own_kind_says_what_derivatives_of_damped_motion_need() -> None:
    own = dataclasses.replace(neo_hookean.KIND, name="own")
    bar, found = Bar(), []
    for kind in (own, MaterialModel.kNeoHookean):
        found.append(differentiate_motion(bar.body, bar.context, 2, NUMBERS, config(kind, damping=0.02)))
    for name in NUMBERS:
        scale = abs(found[1].dv_WV[name]).max()
        assert found[0].dv_WV[name] == pytest.approx(found[1].dv_WV[name], abs=1e-12 * scale)
    without = dataclasses.replace(own, name="without", calc_third=None)
    other = dataclasses.replace(SAINT_VENANT_KIRCHHOFF, calc_third=own.calc_third)
    bar.body.SetVelocities(bar.context, np.full((3, bar.body.num_dofs() // 3), -3.0))
    for kind, message in ((without, "'without', has no calc_third"), (other, "leaves out something else than the")):
        differentiate_motion(bar.body, bar.context, 1, NUMBERS, config(kind))  # which is not damped
        with pytest.raises(RuntimeError, match=f"'bar': its kind of material, .*{message}"):
            differentiate_motion(bar.body, bar.context, 2, ["mass_density"], config(kind, damping=0.02))


def test_an_external_force_without_derivatives_is_refused_by_name() -> None:
    class Rounded(ForceDensityField):
        def DoEvaluateAt(self, context: Any, p_WQ: Any) -> Any:
            return np.array([0.0, 0.0, 10.0 * float(p_WQ[2])])

    bar = Bar(field=Rounded())
    with pytest.raises(RuntimeError, match=r"Rounded.DoEvaluateAt\(\) must take a point of AutoDiffXd"):
        differentiate_motion(bar.body, bar.context, 1, ["youngs_modulus"])


def test_the_motion_is_that_of_the_plant() -> None:
    from merganser.analysis import Simulator

    bar = Bar((3.0, 1.0, -G))
    simulator = Simulator(bar.diagram, bar.root)
    q, v, *_ = differentiate_motion(bar.body, bar.context, 10, [])
    simulator.AdvanceTo(10 * H)
    assert bar.body.GetPositions(bar.context) == pytest.approx(q, abs=1e-13)
    assert bar.body.GetVelocities(bar.context) == pytest.approx(v, abs=1e-11)


def test_what_has_no_derivatives_is_refused_by_name() -> None:
    bar = Bar()
    with pytest.raises(ValueError, match=r"no parameter 'stiffness'; there are youngs_modulus, .*mass_density"):
        differentiate_equilibrium(bar.body, bar.context, ["stiffness"])
    with pytest.raises(ValueError, match="num_steps must not be negative; given -1"):
        differentiate_motion(bar.body, bar.context, -1, [])
    scene = SoftScene()
    scene.add_soft(Box(0.1, 0.1, 0.1), (0.0, 0.0, 0.2))
    scene.finish()
    with pytest.raises(RuntimeError, match=r"'soft 0' has proximity properties. Register it without"):
        differentiate_equilibrium(scene.model.GetBody(scene.ids[0]), scene.context, ["youngs_modulus"])
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, H)
    model = plant.mutable_deformable_model()
    ids = [
        model.RegisterDeformableBody(GeometryInstance(RigidTransform(), Box(0.1, 0.1, 0.1), name), config(), 0.05)
        for name in ("free", "towed")
    ]
    cart = plant.AddRigidBody("cart", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
    plant.AddJoint(PrismaticJoint("track", plant.world_frame(), cart.body_frame(), [1.0, 0.0, 0.0]))
    model.AddFixedConstraint(ids[1], cart, RigidTransform(), Box(0.2, 0.2, 0.01), RigidTransform())
    plant.Finalize()
    context = plant.CreateDefaultContext()
    with pytest.raises(RuntimeError, match=r"'towed' is fixed to rigid body 'cart'. Weld that"):
        differentiate_motion(model.GetBody(ids[1]), context, 1, ["youngs_modulus"])
    with pytest.raises(RuntimeError, match=r"Deformable body 'free'"):
        differentiate_equilibrium(model.GetBody(ids[0]), context, ["youngs_modulus"])
