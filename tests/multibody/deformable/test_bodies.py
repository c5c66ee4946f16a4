"""Deformable bodies of plants: registered, found, moved, saved, and refused where there can be none."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from soft_bodies import config

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.core.context.context_values import LoadContext, save_context
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import Box, GeometryInstance, HalfSpace, SceneGraph, Sphere
from merganser.multibody.fem import ForceDensityType, MaterialModel
from merganser.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    DeformableModel,
    DiscreteContactApproximation,
    MultibodyPlant,
    MultibodyPlant_,
    PhysicalModel,
)
from merganser.multibody.tree import (
    DeformableBodyId,
    DeformableBodyIndex,
    ForceDensityField,
    GravityForceField,
    ModelInstanceIndex,
    SpatialInertia,
)

H = 0.01
AT = RigidTransform([0.2, 0.0, 0.0])


def bar(name: str = "bar", X_WD: RigidTransform = AT) -> GeometryInstance:
    return GeometryInstance(X_WD, Box(0.4, 0.1, 0.1), name)


class Scene:
    """A plant with a bar that is held at x = 0, and perhaps more."""

    def __init__(self, is_sampled: bool = True, **material: object) -> None:
        self.builder = DiagramBuilder()
        self.plant, self.scene_graph = AddMultibodyPlantSceneGraph(self.builder, H)
        self.plant.SetUseSampledOutputPorts(is_sampled)
        self.model = self.plant.mutable_deformable_model()
        self.id = self.model.RegisterDeformableBody(bar(), config(**({"E": 1e6} | material)), 0.05)
        self.model.SetWallBoundaryCondition(self.id, [1e-6, 0.0, 0.0], [1.0, 0.0, 0.0])

    def finish(self) -> Scene:
        self.plant.Finalize()
        self.diagram = self.builder.Build()
        self.simulator = Simulator(self.diagram)
        self.context = self.plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        return self

    def vertices(self, time: float) -> np.ndarray:
        self.simulator.AdvanceTo(time)
        return self.model.GetPositions(self.context, self.id)


# ---------------------------------------------------------------------- what there is


def test_bodies_are_found_by_identifier_index_name_and_geometry() -> None:
    scene = Scene()
    plant, model, id = scene.plant, scene.model, scene.id
    other = plant.AddModelInstance("others")
    twin = model.RegisterDeformableBody(
        geometry_instance=bar(), model_instance=other, config=config(), resolution_hint=0.1
    )
    assert model.num_bodies() == 2 and not model.is_empty()
    assert model.GetBody(id) is model.GetBody(DeformableBodyIndex(0)) is model.GetMutableBody(id)
    assert model.GetBodyIndex(twin) == 1 and model.GetBodyId(DeformableBodyIndex(1)) == twin
    assert model.GetBodyId(geometry_id=model.GetGeometryId(twin)) == twin
    assert model.GetBodyByName("bar", other).body_id() == twin
    assert model.HasBodyNamed("bar") and model.HasBodyNamed("bar", other) and not model.HasBodyNamed("rod")
    assert model.GetBodyIds(other) == [twin] and model.GetBodyIds(ModelInstanceIndex(0)) == []
    body = model.GetBody(twin)
    assert body.scoped_name().get_full() == "others::bar" and body.model_instance() == other
    assert body.GetParentPlant() is plant and not body.is_ephemeral()
    assert body.config().youngs_modulus() == 1e5
    assert body.num_dofs() == 3 * 5 * 2 * 2
    assert scene.scene_graph.model_inspector().GetName(body.geometry_id()) == "others::bar"
    assert isinstance(model, PhysicalModel) and isinstance(model, DeformableModel)
    with pytest.raises(RuntimeError, match="Several model instances have a deformable body named 'bar'"):
        model.GetBodyByName("bar")
    with pytest.raises(RuntimeError, match="no deformable body named 'rod'; it has 'bar'"):
        model.GetBodyByName("rod")
    with pytest.raises(RuntimeError, match="no deformable body with <DeformableBodyId"):
        model.GetBody(DeformableBodyId.get_new_id())
    with pytest.raises(RuntimeError, match="no deformable body 7"):
        model.GetBody(DeformableBodyIndex(7))


def test_a_plant_without_deformable_bodies_has_an_empty_model_and_state() -> None:
    plant = MultibodyPlant(H)
    assert plant.mutable_deformable_model() is plant.deformable_model()
    assert plant.deformable_model().is_empty()
    plant.Finalize()
    assert plant.CreateDefaultContext().num_discrete_state_groups() == 1
    port = plant.get_deformable_body_configuration_output_port()
    assert port.Eval(plant.CreateDefaultContext()).size() == 0
    with pytest.raises(RuntimeError, match="finalized already"):
        plant.mutable_deformable_model()


def test_state_is_set_and_read_in_a_context() -> None:
    scene = Scene().finish()
    model, context, id = scene.model, scene.context, scene.id
    group = model.GetDiscreteStateIndex(id)
    assert group == 1 and context.num_discrete_state_groups() == 2
    n = model.GetBody(id).num_dofs() // 3
    q, v = np.random.default_rng(0).normal(size=(2, 3, n))
    model.SetPositionsAndVelocities(context, id, q, v)
    assert (model.GetPositionsAndVelocities(context, id) == np.hstack([q, v])).all()
    assert (context.get_discrete_state(group).value()[: 6 * n] == np.concatenate([q.T.ravel(), v.T.ravel()])).all()
    model.SetPositions(context, id, v)
    model.SetVelocities(context, id, q)
    assert (model.GetPositions(context, id) == v).all() and (model.GetVelocities(context, id) == q).all()
    for bad, words in ((q[:, 1:], "must have shape"), (q * np.nan, r"is not finite: q\[0, 0\]")):
        with pytest.raises(ValueError, match=f"'bar' {words}"):
            model.SetPositions(context, id, bad)
    with pytest.raises(ValueError, match=r"Context|context"):
        model.GetPositions(scene.simulator.get_context(), id)
    with pytest.raises(RuntimeError, match="'bar': a computation needs a finalized plant"):
        Scene().model.GetBodyByName("bar").GetPositions(context)


def test_vertices_go_to_the_scene_graph() -> None:
    scene = Scene().finish()
    q = scene.vertices(0.05)
    geometry = scene.model.GetGeometryId(scene.id)
    query = scene.scene_graph.get_query_output_port().Eval(
        scene.scene_graph.GetMyContextFromRoot(scene.simulator.get_context())
    )
    assert (query.GetConfigurationsInWorld(geometry) == q.T.ravel()).all()
    box = query.ComputeAabbInWorld(geometry)
    assert box is not None
    np.testing.assert_allclose([box.lower(), box.upper()], [q.min(axis=1), q.max(axis=1)], atol=1e-15)
    kept = copy.copy(query)
    assert scene.vertices(0.1)[2].min() < q[2].min() - 1e-3
    assert (query.GetConfigurationsInWorld(geometry) != q.T.ravel()).any()
    assert (kept.GetConfigurationsInWorld(geometry) == q.T.ravel()).all()
    inspector = query.inspector()
    assert inspector.IsDeformableGeometry(geometry) and inspector.GetAllDeformableGeometryIds() == [geometry]
    mesh = inspector.GetReferenceMesh(geometry)
    assert mesh is not None and mesh.num_vertices() == q.shape[1]


# ---------------------------------------------------------------------- how it moves


def test_rigid_bodies_beside_deformable_ones_move_as_without_them() -> None:
    paths = []
    for has_bar in (True, False):
        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(builder, H)
        body = plant.AddRigidBody("box", SpatialInertia.SolidCubeWithMass(2.0, 0.1))
        if has_bar:
            plant.mutable_deformable_model().RegisterDeformableBody(bar(), config(), 0.1)
        plant.Finalize()
        simulator = Simulator(builder.Build())
        simulator.AdvanceTo(0.2)
        paths.append(plant.EvalBodyPoseInWorld(plant.GetMyContextFromRoot(simulator.get_context()), body).translation())
    assert (paths[0] == paths[1]).all()


def test_sampled_and_live_plants_and_forced_updates_step_alike() -> None:
    sampled, live = (Scene(is_sampled).finish() for is_sampled in (True, False))
    assert (sampled.vertices(0.1) == live.vertices(0.1)).all()
    scene = Scene().finish()
    context = scene.plant.CreateDefaultContext()
    state = context.Clone().get_mutable_state()
    scene.plant.CalcForcedUnrestrictedUpdate(context, state)
    n = scene.model.GetBody(scene.id).num_dofs()
    assert (scene.vertices(H) == state.get_discrete_state(1).value()[:n].reshape(-1, 3).T).all()


def test_a_body_that_is_switched_off_stays_where_it_is() -> None:
    scene = Scene().finish()
    before = scene.vertices(0.05)
    scene.model.Disable(scene.id, scene.context)
    assert not scene.model.is_enabled(scene.id, scene.context)
    assert not scene.model.GetVelocities(scene.context, scene.id).any()
    assert (scene.vertices(0.1) == before).all()
    scene.model.Enable(scene.id, scene.context)
    assert (scene.vertices(0.15) != before).any()
    assert scene.model.is_enabled(scene.id, scene.plant.CreateDefaultContext())


def test_new_contexts_have_bodies_at_their_default_poses_whenever_these_were_set() -> None:
    scene = Scene()
    body = scene.model.GetBody(scene.id)
    assert body.get_default_pose().IsExactlyEqualTo(AT)
    rest = body.reference_positions().reshape(-1, 3)
    X_WD = RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [1.0, 2.0, 3.0])
    scene.finish()
    assert scene.model.GetPositions(scene.context, scene.id) == pytest.approx(rest.T)
    body.set_default_pose(X_WD)
    moved = scene.model.GetPositions(scene.plant.CreateDefaultContext(), scene.id)
    assert moved == pytest.approx((X_WD @ AT.inverse()).multiply(rest.T))
    assert (body.reference_positions().reshape(-1, 3) == rest).all()


class Pull(ForceDensityField):
    """Pulls along x, as strongly as the plant's input port says [N/m^3]."""

    def DoDeclareInputPorts(self, plant):
        self.port = self.DeclareVectorInputPort(plant, "pull", _vector(1))

    def DoEvaluateAt(self, context, p_WQ):
        return [float(self.port.Eval(context)[0]), 0.0, 0.0]


def _vector(size):
    from merganser.framework import BasicVector

    return BasicVector(size)


def test_external_forces_may_read_input_ports_of_the_plant() -> None:
    scene, pull = Scene(), Pull(ForceDensityType.kPerReferenceVolume)
    assert not pull.has_parent_system()
    with pytest.raises(RuntimeError, match="belongs to no plant"):
        pull.parent_system_or_throw()
    scene.model.AddExternalForce(pull)
    scene.plant.gravity_field().set_gravity_vector(np.zeros(3))
    scene.finish()
    assert pull.parent_system_or_throw() is scene.plant
    gravity, same = scene.model.GetExternalForces(scene.id)
    assert isinstance(gravity, GravityForceField) and same is pull
    pull.port.FixValue(scene.context, [1e4])
    # Stretched by stress 1e4 (L - x): u(L) = 1e4 L^2 / (2 E) at rest, at most twice that without damping.
    u = max(scene.vertices(t)[0].max() - 0.4 for t in np.arange(1, 20) * H)
    assert 1e4 * 0.16 / 2e6 < u < 2.1 * 1e4 * 0.16 / 2e6


def test_bodies_fixed_to_a_post_hang_as_those_that_a_wall_holds() -> None:
    wall, post = Scene(), Scene()
    X_WB = RigidTransform(RollPitchYaw(0.2, 0.3, 0.4), [0.5, 0.5, 0.5])
    plant = post.plant
    body = plant.AddRigidBody("post", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
    plant.WeldFrames(plant.world_frame(), body.body_frame(), X_WB)
    at = X_WB.inverse() @ AT
    with pytest.raises(RuntimeError, match="no vertex of deformable body 'bar' is inside of Sphere"):
        post.model.AddFixedConstraint(post.id, body, at, Sphere(0.1), RigidTransform([5.0, 0.0, 0.0]))
    second = post.model.RegisterDeformableBody(bar("second"), config(E=1e6), 0.05)
    post.model.AddFixedConstraint(second, body, at, Box(0.02, 1.0, 1.0), X_WB.inverse())
    assert post.model.HasConstraint(second) and not post.model.HasConstraint(post.id)
    assert post.model.GetBody(second).has_fixed_constraint()
    expected = wall.finish().vertices(0.2)
    post.finish().vertices(0.2)
    assert post.model.GetPositions(post.context, second) == pytest.approx(expected, abs=1e-9)


# ---------------------------------------------------------------------- copies, files, scalars


def test_contexts_and_diagrams_are_copied_with_their_bodies() -> None:
    scene = Scene().finish()
    scene.simulator.AdvanceTo(0.05)
    twin = Simulator(scene.diagram, scene.simulator.get_context().Clone())
    clone = scene.diagram.Clone()
    other = Simulator(clone)
    ends = []
    for simulator, plant in (
        (twin, scene.plant),
        (scene.simulator, scene.plant),
        (other, clone.GetSubsystemByName("plant")),
    ):
        simulator.AdvanceTo(0.1)
        model = plant.deformable_model()
        ends.append(
            model.GetPositions(
                plant.GetMyContextFromRoot(simulator.get_context()), model.GetBodyByName("bar").body_id()
            )
        )
    assert (ends[0] == ends[1]).all() and (ends[0] == ends[2]).all()


def test_conversion_to_other_scalars_names_the_body() -> None:
    scene = Scene().finish()
    for convert in (scene.plant.ToAutoDiffXd, scene.plant.ToSymbolic):
        with pytest.raises(RuntimeError, match="deformable body 'bar'"):
            convert()
    assert scene.diagram.ToAutoDiffXdMaybe() is None


# ---------------------------------------------------------------------- what cannot be


def test_plants_that_can_have_none_say_so_by_name() -> None:
    def register(plant: MultibodyPlant, has_geometry: bool = True) -> None:
        if has_geometry:
            plant.RegisterAsSourceForSceneGraph(SceneGraph())
        plant.mutable_deformable_model().RegisterDeformableBody(bar(), config(), 0.1)

    with pytest.raises(RuntimeError, match=r"deformable body 'bar' needs a discrete plant, .* is continuous"):
        register(MultibodyPlant(0.0))
    with pytest.raises(RuntimeError, match=r"deformable body 'bar' needs a plant of floats, .* AutoDiffXd"):
        register(MultibodyPlant_[AutoDiffXd](H), has_geometry=False)
    with pytest.raises(RuntimeError, match="deformable body 'bar' needs a SceneGraph"):
        register(MultibodyPlant(H), has_geometry=False)
    scene = Scene()
    scene.plant.set_discrete_contact_approximation(DiscreteContactApproximation.kTamsi)
    with pytest.raises(RuntimeError, match="deformable body 'bar', and kTamsi is for rigid ones"):
        scene.plant.Finalize()
    scene.plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
    scene.plant.Finalize()
    for late in (lambda: scene.model.AddExternalForce(Pull()), lambda: register(scene.plant, has_geometry=False)):
        with pytest.raises(RuntimeError, match="finalized already"):
            late()


def test_bodies_that_cannot_be_leave_nothing_behind() -> None:
    scene = Scene()
    inspector = scene.scene_graph.model_inspector()
    cases = (
        (bar(), config(), "has a deformable body named 'bar' already"),
        (GeometryInstance(AT, HalfSpace(), "sea"), config(), "'sea': There are no tetrahedra for a deformable"),
        (bar("gap"), config(), "'gap': The resolution hint of a deformable Box.* must be positive; given 0"),
        (bar("gum"), config(MaterialModel.kNeoHookean, nu=0.1), "'gum'.*kNeoHookean is stable at rest"),
    )
    for geometry, material, words in cases:
        with pytest.raises(RuntimeError, match=words):
            scene.model.RegisterDeformableBody(geometry, material, 0.0 if "hint" in words else 0.1)
    with pytest.raises(TypeError, match="geometry_instance, model_instance, config, resolution_hint"):
        scene.model.RegisterDeformableBody(bar("rod"), 0.1)  # type: ignore[call-overload]
    with pytest.raises(RuntimeError, match="model instance"):
        scene.model.RegisterDeformableBody(bar("rod"), ModelInstanceIndex(9), config(), 0.1)
    assert scene.model.num_bodies() == 1 and len(inspector.GetAllDeformableGeometryIds()) == 1


def test_a_motion_that_fails_names_the_body_and_the_time() -> None:
    scene = Scene().finish()
    scene.simulator.AdvanceTo(0.03)
    q = scene.model.GetPositions(scene.context, scene.id)
    scene.model.SetVelocities(scene.context, scene.id, 1e300 * q)
    with pytest.raises(RuntimeError, match=r"Deformable body 'bar' at time 0.03 s"):
        scene.simulator.AdvanceTo(0.06)


def test_contexts_with_bodies_are_saved_and_loaded(tmp_path) -> None:
    scene, other = Scene().finish(), Scene().finish()
    q = scene.vertices(0.05)
    scene.model.Disable(scene.id, scene.context)
    save_context(scene.simulator.get_context(), tmp_path / "soft.npz", False)
    context = other.plant.GetMyContextFromRoot(LoadContext(other.diagram, tmp_path / "soft.npz"))
    assert (other.model.GetPositions(context, other.id) == q).all()
    assert not other.model.is_enabled(other.id, context) and context.get_time() == 0.05
