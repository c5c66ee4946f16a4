"""Centre of mass, momentum, inertia and reaction forces through the plant."""

import numpy as np
import pytest
from explicit_products import as_pydrake
from plants import arm_and_box, off_centre_inertia, pendulum, set_random_state

from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import BodyIndex, JacobianWrtVariable, RevoluteJoint, SpatialInertia

V, QDOT = JacobianWrtVariable.kV, JacobianWrtVariable.kQDot
MASS = 1.5 + 0.7 + 1.5 + 1.5


@pytest.fixture(params=[0.0, 1e-3], ids=["continuous", "discrete"])
def plant(request):
    return arm_and_box(request.param, plant=as_pydrake(MultibodyPlant(request.param)))


@pytest.fixture
def context(plant):
    context = plant.CreateDefaultContext()
    set_random_state(plant, context, 4)
    plant.get_actuation_input_port().FixValue(context, [0.7, -0.3])
    return context


def instances(plant):
    return [plant.GetModelInstanceByName(name) for name in ("arm", "thing")]


def test_velocity_of_the_centre_of_mass_is_momentum_by_mass_and_jacobian_times_v(plant, context):
    W = plant.world_frame()
    v = plant.GetVelocities(context)
    v_WScm_W = plant.CalcCenterOfMassTranslationalVelocityInWorld(context)
    L_WSP_W = plant.CalcSpatialMomentumInWorldAboutPoint(context, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(L_WSP_W.translational() / MASS, v_WScm_W, rtol=1e-13)
    J = plant.CalcJacobianCenterOfMassTranslationalVelocity(context=context, with_respect_to=V, frame_A=W, frame_E=W)
    np.testing.assert_allclose(J @ v, v_WScm_W, rtol=1e-12)
    J_q = plant.CalcJacobianCenterOfMassTranslationalVelocity(context, QDOT, W, W)
    np.testing.assert_allclose(J_q @ plant.MapVelocityToQDot(context, v), v_WScm_W, rtol=1e-12)


def test_acceleration_of_the_centre_of_mass_is_bias_and_jacobian_times_accelerations(plant, context):
    W = plant.world_frame()
    _, vdot = plant._dynamics.calc_vdot(context)
    a_WScm_W = plant.CalcCenterOfMassTranslationalAccelerationInWorld(context)
    J = plant.CalcJacobianCenterOfMassTranslationalVelocity(context, V, W, W)
    bias = plant.CalcBiasCenterOfMassTranslationalAcceleration(context, V, W, W)
    np.testing.assert_allclose(a_WScm_W, J @ vdot + bias, rtol=0, atol=1e-10)


def test_what_falls_accelerates_like_gravity(plant, context):
    _, thing = instances(plant)
    a_WScm_W = plant.CalcCenterOfMassTranslationalAccelerationInWorld(context, [thing])
    np.testing.assert_allclose(a_WScm_W, [0.0, 0.0, -9.81], rtol=0, atol=1e-10)


def test_model_instances_add_up(plant, context):
    both = instances(plant)
    W, p = plant.world_frame(), np.array([0.3, 0.2, 0.1])
    masses = [plant.CalcTotalMass(context, [instance]) for instance in both]
    for function in (
        lambda *s: plant.CalcCenterOfMassTranslationalVelocityInWorld(context, *s),
        lambda *s: plant.CalcCenterOfMassTranslationalAccelerationInWorld(context, *s),
        lambda *s: plant.CalcJacobianCenterOfMassTranslationalVelocity(context, *s, V, W, W),
        lambda *s: plant.CalcBiasCenterOfMassTranslationalAcceleration(context, *s, V, W, W),
    ):
        parts = sum(mass * function([instance]) for mass, instance in zip(masses, both))
        np.testing.assert_allclose(function() * MASS, parts, rtol=0, atol=1e-11)
        np.testing.assert_array_equal(function([*both, both[0]]), function())
    L = [
        plant.CalcSpatialMomentumInWorldAboutPoint(context, model_instances=[instance], p_WoP_W=p).get_coeffs()
        for instance in both
    ]
    whole = plant.CalcSpatialMomentumInWorldAboutPoint(context, p).get_coeffs()
    np.testing.assert_allclose(L[0] + L[1], whole, rtol=0, atol=1e-13)


def test_momentum_shifts_with_its_point(plant, context):
    p = np.array([1.0, -2.0, 0.5])
    L_WSO_W = plant.CalcSpatialMomentumInWorldAboutPoint(context, np.zeros(3))
    L_WSP_W = plant.CalcSpatialMomentumInWorldAboutPoint(context, p)
    np.testing.assert_allclose(L_WSO_W.Shift(p).get_coeffs(), L_WSP_W.get_coeffs(), rtol=0, atol=1e-13)


def test_spatial_inertia_is_the_sum_of_those_of_the_bodies(plant, context):
    F = plant.GetFrameByName("tool")
    bodies = [plant.GetBodyByName(name) for name in ("upper", "lower", "box")]
    M_SFo_F = plant.CalcSpatialInertia(
        context=context, frame_F=F, body_indexes=[b.index() for b in (*bodies, plant.world_body())]
    )
    expected = np.zeros((6, 6))
    for body in bodies:
        X_FB = plant.CalcRelativeTransform(context, F, body.body_frame())
        M_BBo_F = body.CalcSpatialInertiaInBodyFrame(context).ReExpress(X_FB.rotation())
        expected += M_BBo_F.Shift(-X_FB.translation()).CopyToFullMatrix6()
    np.testing.assert_allclose(M_SFo_F.CopyToFullMatrix6(), expected, rtol=0, atol=1e-13)
    assert plant.CalcSpatialInertia(context, F, []).get_mass() == 0.0
    symbolic = plant.ToSymbolic()
    of_world = symbolic.CalcSpatialInertia(symbolic.CreateDefaultContext(), symbolic.world_frame(), [BodyIndex(0)])
    assert of_world.get_mass() == 0.0
    lower = bodies[1].index()
    with pytest.raises(RuntimeError, match=r"CalcSpatialInertia\(\).*'lower'.*more than once"):
        plant.CalcSpatialInertia(context, F, [lower, lower])
    with pytest.raises(RuntimeError, match="index 77"):
        plant.CalcSpatialInertia(context, F, [77])


def test_bodies_without_mass_have_no_centre_of_mass():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("b", SpatialInertia.Zero())
    plant.AddJoint(RevoluteJoint("j", plant.world_frame(), body.body_frame(), [0, 0, 1]))
    plant.Finalize()
    empty = MultibodyPlant(0.0)
    empty.Finalize()
    for model, message in ((plant, "total mass .* is zero"), (empty, "no bodies but the world")):
        context, W = model.CreateDefaultContext(), model.world_frame()
        for call in (
            lambda m, c, W: m.CalcCenterOfMassPositionInWorld(c),
            lambda m, c, W: m.CalcCenterOfMassTranslationalVelocityInWorld(c),
            lambda m, c, W: m.CalcJacobianCenterOfMassTranslationalVelocity(c, V, W, W),
            lambda m, c, W: m.CalcBiasCenterOfMassTranslationalAcceleration(c, V, W, W),
        ):
            with pytest.raises(RuntimeError, match=message):
                call(model, context, W)
        assert not model.CalcSpatialMomentumInWorldAboutPoint(context, np.zeros(3)).get_coeffs().any()


def test_instances_without_bodies_and_wrong_arguments_are_refused(plant, context):
    W = plant.world_frame()
    with pytest.raises(RuntimeError, match="have no bodies"):
        plant.CalcJacobianCenterOfMassTranslationalVelocity(context, [0], V, W, W)
    with pytest.raises(RuntimeError, match="no model instance with index 17"):
        plant.CalcSpatialMomentumInWorldAboutPoint(context, [17], np.zeros(3))
    with pytest.raises(TypeError, match=r"takes context, then model_instances \(or not\), then p_WoP_W"):
        plant.CalcSpatialMomentumInWorldAboutPoint(context)
    with pytest.raises(TypeError, match="with_respect_to, frame_A, frame_E"):
        plant.CalcJacobianCenterOfMassTranslationalVelocity(context, V, W)
    with pytest.raises(ValueError, match="p_WoP_W"):
        plant.CalcSpatialMomentumInWorldAboutPoint(context, np.zeros(2))


def test_joint_of_a_turning_pendulum_bears_its_weight_and_centripetal_force():
    plant = pendulum(0.0, length=0.7, mass=1.3, motor=True)
    context = plant.CreateDefaultContext()
    plant.SetPositionsAndVelocities(context, [0.0, 2.0])
    plant.get_actuation_input_port().FixValue(context, [0.4])
    (F_CJc_Jc,) = plant.get_reaction_forces_output_port().Eval(context)
    # The motor accelerates the bob: m l vdot = u / l along x of the bob, and the joint pulls to its middle.
    expected = [0.0, 0.4, 0.0, -0.4 / 0.7, 0.0, 1.3 * (9.81 + 0.7 * 2.0**2)]
    np.testing.assert_allclose(F_CJc_Jc.get_coeffs(), expected, rtol=0, atol=1e-12)


def test_weld_bears_what_hangs_on_it():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("b", off_centre_inertia())
    plant.WeldFrames(plant.world_frame(), body.body_frame())
    plant.Finalize()
    (F,) = plant.get_reaction_forces_output_port().Eval(plant.CreateDefaultContext())
    weight = 1.5 * 9.81
    # The moment of the weight about Bo, with the centre of mass at (0.1, -0.2, 0.3), is taken up.
    np.testing.assert_allclose(F.get_coeffs(), [-0.2 * weight, -0.1 * weight, 0, 0, 0, weight], rtol=1e-14)
