"""Elements, topology and coordinate order against pydrake, on random models."""

from types import SimpleNamespace

import numpy as np
import pytest

import merganser.framework.math as math
import merganser.multibody.tree as tree
from merganser.multibody.kernels import layout
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import coordinates

pytest.importorskip("pydrake", reason="pydrake (extra `reference`) is not installed")
import pydrake.math
import pydrake.multibody.plant
import pydrake.multibody.tree

pytestmark = pytest.mark.reference
SEEDS = range(50)


def library(elements, spatial_math):
    joints = ["RevoluteJoint", "PrismaticJoint", "WeldJoint", "QuaternionFloatingJoint", "RpyFloatingJoint"]
    joints += ["ScrewJoint", "UniversalJoint", "PlanarJoint", "BallRpyJoint"]
    names = [*joints, "FixedOffsetFrame", "SpatialInertia"]
    return SimpleNamespace(
        RigidTransform=spatial_math.RigidTransform,
        RollPitchYaw=spatial_math.RollPitchYaw,
        **{name: getattr(elements, name) for name in names},
    )


OURS = library(tree, math)
THEIRS = library(pydrake.multibody.tree, pydrake.math)


def add_random_model(model, lib, seed):
    """Fills a tree or a plant; the same calls for the same seed, whatever the library."""
    rng = np.random.default_rng(seed)

    def random_pose():
        return lib.RigidTransform(lib.RollPitchYaw(*rng.uniform(-3, 3, 3)), rng.normal(size=3))

    def random_frame(body):
        if rng.random() < 0.5:
            return body.body_frame()
        pose = random_pose()
        return model.AddFrame(lib.FixedOffsetFrame(f"f{model.num_frames()}", body.body_frame(), pose))

    instances = [1] + [int(model.AddModelInstance(f"m{k}")) for k in range(rng.integers(1, 4))]
    num_bodies = rng.integers(1, 15)
    bodies = [model.world_body()]
    for k in range(num_bodies):
        instance = tree.ModelInstanceIndex(rng.choice(instances))
        inertia = lib.SpatialInertia.SolidBoxWithMass(*rng.uniform(0.1, 1, 4)).Shift(rng.normal(size=3))
        bodies.append(model.AddRigidBody(f"body{k}", pydrake_index(lib, instance), inertia))
    # Each body in a random order gets a joint to one of those before it, or stays alone; either may be the
    # parent.
    pairs, before = [], [0]
    for body in rng.permutation(np.arange(1, num_bodies + 1)):
        if rng.random() < 0.85:
            pairs.append((int(rng.choice(before)), int(body), bool(rng.random() < 0.6)))
        before.append(int(body))
    for k in rng.permutation(len(pairs)):
        inboard, outboard, in_order = pairs[k]
        parent, child = (inboard, outboard) if in_order else (outboard, inboard)
        # Most joints are not reversible, and in_order does not decide which end is nearer the world in the end.
        irreversible = ["floating", "rpy", "screw", "universal", "planar", "ball"] if inboard == 0 and in_order else []
        kind = rng.choice(["revolute", "prismatic", "weld"] + irreversible)
        name = f"j{k}" if rng.random() < 0.8 else f"body{k}"  # sometimes the name of an implicit joint
        F, M, axis = random_frame(bodies[parent]), random_frame(bodies[child]), rng.normal(size=3)
        low, high, damping = -rng.random(), rng.random(), rng.random()
        if kind == "revolute":
            joint = lib.RevoluteJoint(name, F, M, axis, low, high, damping)
            joint.set_velocity_limits([low], [high])
        elif kind == "prismatic":
            joint = lib.PrismaticJoint(name, F, M, axis, low, high, damping)
            joint.set_acceleration_limits([low], [high])
        elif kind == "weld":
            joint = lib.WeldJoint(name, F, M, random_pose())
        elif kind == "screw":
            joint = lib.ScrewJoint(name, F, M, axis, low, damping)
        elif kind == "planar":
            joint = lib.PlanarJoint(name, F, M, [high, damping, 0.5])
            joint.set_position_limits([low] * 3, [high] * 3)
        elif kind in ("universal", "ball"):
            joint = (lib.UniversalJoint if kind == "universal" else lib.BallRpyJoint)(name, F, M, damping)
        else:
            kinds = {"floating": lib.QuaternionFloatingJoint, "rpy": lib.RpyFloatingJoint}
            joint = kinds[kind](name, F, M, low + 1, high)
        joint = model.AddJoint(joint)
        if kind in ("revolute", "prismatic"):
            joint.set_default_positions([high])
            for _ in range(rng.integers(0, 3)):
                actuator = model.AddJointActuator(f"a{model.num_actuators()}", joint, rng.random() + 0.1)
                actuator.set_default_gear_ratio(rng.normal())
                actuator.set_default_rotor_inertia(rng.random())
    jointless = set(range(1, num_bodies + 1)) - {body for pair in pairs for body in pair[:2]}
    for body in [bodies[index] for index in sorted(jointless)]:
        if rng.random() < 0.5:
            model.SetDefaultFloatingBaseBodyPose(body, random_pose())
    model.Finalize()


def pydrake_index(lib, index):
    return pydrake.multibody.tree.ModelInstanceIndex(int(index)) if lib is THEIRS else index


@pytest.fixture(params=SEEDS)
def models(request):
    ours, theirs = tree.MultibodyTree(), pydrake.multibody.plant.MultibodyPlant(0.0)
    add_random_model(ours, OURS, request.param)
    add_random_model(theirs, THEIRS, request.param)
    return ours, theirs


def test_joints_have_the_indices_names_and_coordinates_of_pydrake(models):
    ours, theirs = models

    def describe(joint):
        numbers = (joint.index(), joint.model_instance(), joint.position_start(), joint.velocity_start())
        bodies = (joint.parent_body().name(), joint.child_body().name())
        return (*map(int, numbers), joint.name(), joint.type_name(), *bodies, joint.is_ephemeral())

    assert [describe(joint) for joint in ours.joints] == [
        describe(theirs.get_joint(index)) for index in theirs.GetJointIndices()
    ]


def test_names_of_coordinates_are_those_of_pydrake(models):
    ours, theirs = models
    assert coordinates.position_names(ours) == theirs.GetPositionNames()
    assert coordinates.velocity_names(ours) == theirs.GetVelocityNames()
    assert coordinates.actuator_names(ours) == theirs.GetActuatorNames()
    assert coordinates.position_names(
        ours, add_model_instance_prefix=False, always_add_suffix=False
    ) == theirs.GetPositionNames(add_model_instance_prefix=False, always_add_suffix=False)


def test_coordinates_of_a_model_instance_are_selected_as_in_pydrake(models):
    ours, theirs = models
    q, v = np.arange(theirs.num_positions()), np.arange(theirs.num_velocities())
    u = np.arange(theirs.num_actuators())
    assert (ours.num_positions(), ours.num_velocities(), ours.num_actuators()) == (len(q), len(v), len(u))
    for instance in map(pydrake.multibody.tree.ModelInstanceIndex, range(theirs.num_model_instances())):
        np.testing.assert_array_equal(
            ours.position_indices(int(instance)), theirs.GetPositionsFromArray(instance, q)
        )
        np.testing.assert_array_equal(
            ours.velocity_indices(int(instance)), theirs.GetVelocitiesFromArray(instance, v)
        )
        np.testing.assert_array_equal(
            ours.input_indices(int(instance)), theirs.GetActuationFromArray(instance, u)
        )


def test_arrays_of_defaults_and_limits_are_those_of_pydrake(models):
    ours, theirs = models
    joints = [theirs.get_joint(index) for index in theirs.GetJointIndices()]
    damping = np.zeros(theirs.num_velocities())
    for joint in joints:
        start = joint.velocity_start()
        damping[start : start + joint.num_velocities()] = joint.default_damping_vector()
    context = theirs.CreateDefaultContext()
    np.testing.assert_allclose(ours.default_positions(), theirs.GetPositions(context), atol=1e-15)
    np.testing.assert_array_equal(ours.default_damping(), damping)
    np.testing.assert_array_equal(ours.position_lower_limits(), theirs.GetPositionLowerLimits())
    np.testing.assert_array_equal(ours.position_upper_limits(), theirs.GetPositionUpperLimits())
    np.testing.assert_array_equal(ours.velocity_upper_limits(), theirs.GetVelocityUpperLimits())
    np.testing.assert_array_equal(ours.acceleration_lower_limits(), theirs.GetAccelerationLowerLimits())
    np.testing.assert_array_equal(ours.effort_limits(), theirs.GetEffortUpperLimits())
    selection = np.zeros((ours.num_velocities(), ours.num_actuated_dofs()))
    selection[ours.actuated_velocity_indices(), np.arange(ours.num_actuated_dofs())] = 1.0
    np.testing.assert_array_equal(selection, theirs.MakeActuationMatrix())


def test_bodies_know_what_those_of_pydrake_know(models):
    ours, theirs = models
    for body in ours.bodies:
        other = theirs.get_body(pydrake.multibody.tree.BodyIndex(body.index()))
        assert body.name() == other.name()
        assert body.scoped_name().get_full() == other.scoped_name().get_full()
        assert body.is_floating_base_body() == other.is_floating_base_body()
        assert body.has_quaternion_dofs() == other.has_quaternion_dofs()
        assert ours.IsAnchored(body) == theirs.IsAnchored(other)
        welded = [int(b.index()) for b in theirs.GetBodiesWeldedTo(other)]
        assert [int(b.index()) for b in ours.GetBodiesWeldedTo(body)] == sorted(welded)
        if body.is_floating_base_body():
            assert body.floating_positions_start() == other.floating_positions_start()
            assert body.floating_velocities_start_in_v() == other.floating_velocities_start_in_v()


def test_records_give_the_poses_of_pydrake_also_for_reversed_joints(models):
    ours, theirs = models
    rng = np.random.default_rng(1)
    context = theirs.CreateDefaultContext()
    q = rng.normal(size=ours.num_positions())
    for joint in ours.joints:
        if joint.type_name() == "quaternion_floating":
            q[joint.position_start() : joint.position_start() + 4] /= np.linalg.norm(
                q[joint.position_start() : joint.position_start() + 4]
            )
    theirs.SetPositions(context, q)
    poses = forward_kinematics(ours.topology, ours.make_default_parameters(), q)
    for body in ours.bodies:
        other = theirs.get_body(pydrake.multibody.tree.BodyIndex(body.index()))
        X_WB = theirs.EvalBodyPoseInWorld(context, other).GetAsMatrix4()
        np.testing.assert_allclose(poses[ours.mobod_of_body[body.index()]], X_WB, atol=1e-12)


def test_records_hold_the_inertias_of_bodies_and_rotors(models):
    ours, theirs = models
    parameters = ours.make_default_parameters()
    for body in ours.bodies:
        if body.index() == 0:
            continue
        other = theirs.get_body(pydrake.multibody.tree.BodyIndex(body.index()))
        record = parameters[ours.mobod_of_body[body.index()]]
        assert record["mass"] == other.default_mass()
        np.testing.assert_allclose(record["p_BoBcm_B"], other.default_com(), atol=1e-15)
        np.testing.assert_allclose(
            record["G_BBo_B"], other.default_unit_inertia().CopyToFullMatrix3(), rtol=1e-12, atol=1e-13
        )
    reflected = np.zeros(ours.num_joints())
    for index in theirs.GetJointActuatorIndices():
        actuator = theirs.get_joint_actuator(index)
        reflected[int(actuator.joint().index())] += actuator.default_reflected_inertia()
    np.testing.assert_allclose(parameters["reflected_inertia"][ours.mobod_of_joint], reflected, rtol=1e-14)


def forward_kinematics(topology, parameters, q):
    """X_WB = X_WP X_PF X_FM(q) X_MB of every mobilized body, from the records alone, shape [n, 4, 4]."""
    poses = np.zeros((len(topology), 4, 4))
    poses[0] = np.eye(4)
    for mobod in range(1, len(topology)):
        place, record = topology[mobod], parameters[mobod]
        qs = q[place["q_start"] : place["q_start"] + place["num_q"]]
        X_PF = pose(record["R_PF"], record["p_PoFo_P"])
        X_MB = pose(record["R_MB"], record["p_MoBo_M"])
        X_FM = mobilizer_pose(place["mobilizer"], record, qs)
        poses[mobod] = poses[place["parent"]] @ X_PF @ X_FM @ X_MB
    return poses


def mobilizer_pose(kind, record, q):
    axis_F = record["axis_F"]
    if kind in (layout.REVOLUTE, layout.SCREW):
        rotation = pydrake.math.RotationMatrix(pydrake.common.eigen_geometry.AngleAxis(q[0], axis_F))
        return pose(rotation.matrix(), record["pitch"] * q[0] * axis_F)
    if kind in (layout.BALL_RPY, layout.RPY_FLOATING):
        return pose(pydrake.math.RollPitchYaw(q[:3]).ToRotationMatrix().matrix(), q[3:] if len(q) > 3 else np.zeros(3))
    if kind == layout.UNIVERSAL:
        turns = pydrake.math.RotationMatrix.MakeXRotation(q[0]) @ pydrake.math.RotationMatrix.MakeYRotation(q[1])
        return pose(turns.matrix(), np.zeros(3))
    if kind == layout.PLANAR:
        return pose(pydrake.math.RotationMatrix.MakeZRotation(q[2]).matrix(), [q[0], q[1], 0.0])
    if kind == layout.PRISMATIC:
        return pose(np.eye(3), q[0] * axis_F)
    if kind == layout.QUATERNION_FLOATING:
        quaternion = pydrake.common.eigen_geometry.Quaternion(wxyz=q[:4])
        return pose(pydrake.math.RotationMatrix(quaternion).matrix(), q[4:])
    return np.eye(4)


def pose(rotation, translation):
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = rotation, translation
    return X


@pytest.mark.parametrize("seed", range(5))
def test_motion_of_frames_in_frames_is_that_of_pydrake(seed):
    ours, theirs = MultibodyPlant(0.0), pydrake.multibody.plant.MultibodyPlant(0.0)
    add_random_model(ours, OURS, seed)
    add_random_model(theirs, THEIRS, seed)
    rng = np.random.default_rng(seed)
    context, their_context = ours.CreateDefaultContext(), theirs.CreateDefaultContext()
    v, u = rng.normal(size=theirs.num_velocities()), np.zeros(theirs.num_actuators())
    for plant, of_plant in ((ours, context), (theirs, their_context)):
        plant.SetVelocities(of_plant, v)
        plant.get_actuation_input_port().FixValue(of_plant, u)
        for index in plant.GetJointActuatorIndices():  # of several on one joint, pydrake feels the rotor of the last
            plant.get_joint_actuator(index).SetRotorInertia(of_plant, 0.0)
    for _ in range(5):
        chosen = [ours.get_frame(tree.FrameIndex(index)) for index in rng.integers(0, ours.num_frames(), 4)]
        others = [theirs.GetFrameByName(f.name(), pydrake_index(THEIRS, f.model_instance())) for f in chosen]
        (F, M, E, B), (F2, M2, E2, B2) = chosen, others
        for mine, expected in (
            (F.CalcPose(context, M), F2.CalcPose(their_context, M2)),
            (F.CalcPoseInWorld(context), F2.CalcPoseInWorld(their_context)),
        ):
            np.testing.assert_allclose(mine.GetAsMatrix4(), expected.GetAsMatrix4(), atol=1e-12)
        for method, arguments, others in (
            ("CalcSpatialVelocityInWorld", (), ()),
            ("CalcSpatialVelocity", (M, E), (M2, E2)),
            ("CalcRelativeSpatialVelocity", (B, M, E), (B2, M2, E2)),
            ("CalcRelativeSpatialVelocityInWorld", (B,), (B2,)),
            ("CalcSpatialAccelerationInWorld", (), ()),
            ("CalcSpatialAcceleration", (M, E), (M2, E2)),
            ("CalcRelativeSpatialAcceleration", (B, M, E), (B2, M2, E2)),
            ("CalcRelativeSpatialAccelerationInWorld", (B,), (B2,)),
        ):
            mine, expected = getattr(F, method)(context, *arguments), getattr(F2, method)(their_context, *others)
            scale = 1.0 + abs(expected.get_coeffs()).max()
            np.testing.assert_allclose(
                mine.get_coeffs() / scale, expected.get_coeffs() / scale, atol=1e-11, err_msg=method
            )
        np.testing.assert_allclose(
            F.CalcAngularVelocity(context, M, E), F2.CalcAngularVelocity(their_context, M2, E2), atol=1e-11
        )


@pytest.mark.parametrize(
    ("factory", "arguments"),
    [
        ("SolidBoxWithMass", (2.0, 0.1, 0.2, 0.3)),
        ("SolidBoxWithDensity", (2.0, 0.1, 0.2, 0.3)),
        ("SolidCubeWithDensity", (2.0, 0.1)),
        ("SolidSphereWithMass", (2.0, 0.1)),
        ("SolidSphereWithDensity", (2.0, 0.1)),
        ("HollowSphereWithMass", (2.0, 0.1)),
        ("HollowSphereWithDensity", (2.0, 0.1)),
        ("SolidEllipsoidWithMass", (2.0, 0.1, 0.2, 0.3)),
        ("SolidEllipsoidWithDensity", (2.0, 0.1, 0.2, 0.3)),
        ("SolidCylinderWithMass", (2.0, 0.1, 0.2, [0.6, 0.0, 0.8])),
        ("SolidCylinderWithDensity", (2.0, 0.1, 0.2, [0.6, 0.0, 0.8])),
        ("SolidCylinderWithMassAboutEnd", (2.0, 0.1, 0.2, [0.6, 0.0, 0.8])),
        ("SolidCylinderWithDensityAboutEnd", (2.0, 0.1, 0.2, [0.6, 0.0, 0.8])),
        ("SolidCapsuleWithMass", (2.0, 0.1, 0.2, [0.6, 0.0, 0.8])),
        ("SolidCapsuleWithDensity", (2.0, 0.1, 0.2, [0.6, 0.0, 0.8])),
        ("ThinRodWithMass", (2.0, 0.2, [0.6, 0.0, 0.8])),
        ("ThinRodWithMassAboutEnd", (2.0, 0.2, [0.6, 0.0, 0.8])),
    ],
)
def test_inertias_of_solids_are_those_of_pydrake(factory, arguments):
    mine = getattr(tree.SpatialInertia, factory)(*arguments)
    expected = getattr(pydrake.multibody.tree.SpatialInertia, factory)(*arguments)
    p = [0.1, -0.2, 0.3]
    np.testing.assert_allclose(mine.CopyToFullMatrix6(), expected.CopyToFullMatrix6(), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(
        mine.Shift(p).CopyToFullMatrix6(), expected.Shift(p).CopyToFullMatrix6(), rtol=1e-13, atol=1e-15
    )
