"""Force elements that are defined here, as a user would: they take part in all that a plant computes."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.primitives import LogVectorOutput
from merganser.multibody import algorithms
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.elements import FINE, NO_FORCE, ForceElementKind, element_kind_of
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import add_spatial, dot, scaled, subtract, translational, vector
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import ForceElement, MultibodyForces, PrismaticJoint, RevoluteJoint, SpatialInertia

pytest_plugins = ["compile_policy"]
pytestmark = pytest.mark.usefixtures("compile_at_once")

# -- a spring that hardens, with damping: tau = -k q - k3 q^3 - d v --------------------------------------------------


def add_duffing_forces(element, constant, q_in, v_in, position_in, velocity_in, tau_out, F_out):
    c, q = constant["constants"], q_in[element["q"]]
    tau_out[element["v"]] -= c[0] * q + c[1] * q * q * q + c[2] * v_in[element["v"]]
    return FINE


def add_duffing_energy(element, constant, q_in, v_in, position_in, velocity_in, energy_out):
    c, q, v = constant["constants"], q_in[element["q"]], v_in[element["v"]]
    energy_out[0] += 0.5 * c[0] * q * q + 0.25 * c[1] * q * q * q * q
    energy_out[1] -= (c[0] * q + c[1] * q * q * q) * v
    energy_out[2] -= c[2] * v * v
    return FINE


class DuffingSpring(ForceElement):
    kind = ForceElementKind("Duffing spring", add_duffing_forces, add_duffing_energy)

    def __init__(self, joint, stiffness, hardening, damping):
        super().__init__(joint.model_instance())
        self._joint, self._values = joint, (stiffness, hardening, damping)

    def _parts(self):
        return (self._joint,)

    def _write_constants(self, record):
        record["constants"][:3] = self._values

    def SetStiffness(self, context, stiffness):
        self._set_constant(context, "constants", stiffness)


# -- gravitation between the origins of two bodies: f = -s r / |r|^3, V = -s / |r| -----------------------------------


def add_attraction(element, constant, q_in, v_in, position_in, velocity_in, tau_out, F_out):
    A, B = position_in[element["mobod_0"]], position_in[element["mobod_1"]]
    r = subtract(vector(B["p_WoBo_W"]), vector(A["p_WoBo_W"]))
    square = dot(r, r)
    if not exceeds(square, 1e-12):
        return NO_FORCE
    f = scaled(constant["constants"][0] / (square * np.sqrt(square)), r)
    add_spatial(F_out[element["mobod_0"]], (0.0, 0.0, 0.0), f)
    add_spatial(F_out[element["mobod_1"]], (0.0, 0.0, 0.0), scaled(-1.0, f))
    return FINE


def add_attraction_energy(element, constant, q_in, v_in, position_in, velocity_in, energy_out):
    A, B = position_in[element["mobod_0"]], position_in[element["mobod_1"]]
    r = subtract(vector(B["p_WoBo_W"]), vector(A["p_WoBo_W"]))
    V_A, V_B = velocity_in[element["mobod_0"]]["V_WB_W"], velocity_in[element["mobod_1"]]["V_WB_W"]
    rdot = subtract(translational(V_B), translational(V_A))
    square = dot(r, r)
    length = np.sqrt(square)
    energy_out[0] -= constant["constants"][0] / length
    energy_out[1] -= constant["constants"][0] * dot(r, rdot) / (square * length)
    return FINE


class Attraction(ForceElement):
    kind = ForceElementKind("attraction", add_attraction, add_attraction_energy)

    def __init__(self, body_A, body_B, strength):
        super().__init__(body_A.model_instance())
        self._bodies, self._strength = (body_A, body_B), strength

    def _parts(self):
        return self._bodies

    def _write_constants(self, record):
        record["constants"][0] = self._strength

    def _describe_failure(self):
        return "its bodies are at one place; move them apart."


# --------------------------------------------------------------------------------------------------------------------

EXACT = 1e-11  # rounding


def arm(time_step: float = 0.0, damping: float = 0.2, *, has_elements: bool = True) -> MultibodyPlant:
    """Two links with a Duffing spring at the elbow, and a free body that is attracted by the hand."""
    rng = np.random.default_rng(4)
    plant = MultibodyPlant(time_step)
    frame = plant.world_frame()
    for number in range(2):
        inertia = SpatialInertia.SolidBoxWithMass(*rng.uniform(0.5, 2.0, 1), *rng.uniform(0.2, 0.6, 3))
        body = plant.AddRigidBody(f"body{number}", inertia.Shift(rng.normal(scale=0.2, size=3)))
        elbow = plant.AddJoint(RevoluteJoint(f"joint{number}", frame, body.body_frame(), rng.normal(size=3)))
        frame = body.body_frame()
    moon = plant.AddRigidBody("moon", SpatialInertia.SolidSphereWithMass(0.5, 0.1))
    if has_elements:
        plant.AddForceElement(DuffingSpring(elbow, 5.0, 20.0, damping))
        plant.AddForceElement(Attraction(body, moon, 3.0))
    plant.Finalize()
    return plant


def in_motion(plant: MultibodyPlant) -> Any:
    context = plant.CreateDefaultContext()
    rng = np.random.default_rng(2)
    q = np.concatenate([rng.uniform(0.3, 1.2, 2), [1.0, 0.0, 0.0, 0.0], rng.uniform(0.5, 1.0, 3)])
    plant.SetPositions(context, q)
    plant.SetVelocities(context, rng.normal(size=plant.num_velocities()))
    return context


def vdot_of(plant: MultibodyPlant, context: Any) -> np.ndarray:
    return plant.EvalTimeDerivatives(context).CopyToVector()[plant.num_positions() :]


def forces_by_hand(plant: MultibodyPlant, context: Any) -> MultibodyForces:
    """Of both elements, from their formulas."""
    forces = MultibodyForces(plant)
    q, v = plant.GetPositions(context)[1], plant.GetVelocities(context)[1]
    tau = np.zeros(plant.num_velocities())
    tau[1] = -5.0 * q - 20.0 * q**3 - 0.2 * v
    forces.mutable_generalized_forces()[:] = tau
    hand, moon = (plant.GetBodyByName(name) for name in ("body1", "moon"))
    p_hand, p_moon = (plant.EvalBodyPoseInWorld(context, body).translation() for body in (hand, moon))
    f = 3.0 * (p_moon - p_hand) / np.linalg.norm(p_moon - p_hand) ** 3
    for body, sign in ((hand, 1.0), (moon, -1.0)):
        body.AddInForceInWorld(context, SpatialForce(np.zeros(3), sign * f), forces)
    return forces


# -- dynamics --------------------------------------------------------------------------------------------------------


def test_accelerations_are_those_of_the_formulas() -> None:
    plant, without = arm(), arm(has_elements=False)
    context, same = in_motion(plant), in_motion(without)
    forces = forces_by_hand(without, same)
    without.get_applied_generalized_force_input_port().FixValue(same, without.CalcGeneralizedForces(same, forces))
    expected = vdot_of(without, same)
    np.testing.assert_allclose(vdot_of(plant, context), expected, atol=EXACT * np.abs(expected).max())
    assert np.abs(expected - vdot_of(without, in_motion(without))).max() > 1.0


def test_contributions_are_listed_by_element() -> None:
    plant = arm()
    context = in_motion(plant)
    expected = forces_by_hand(plant, context)
    total = MultibodyForces(plant)
    for number in (1, 2):
        plant.get_force_element(number).CalcAndAddForceContribution(context, total)
    np.testing.assert_allclose(total.generalized_forces(), expected.generalized_forces(), atol=EXACT)
    np.testing.assert_allclose(
        plant.CalcGeneralizedForces(context, total), plant.CalcGeneralizedForces(context, expected), atol=EXACT
    )


def test_power_is_the_rate_of_energy() -> None:
    plant = arm()
    context = in_motion(plant)
    conservative, other = plant.CalcConservativePower(context), plant.CalcNonConservativePower(context)
    assert other == pytest.approx(-0.2 * plant.GetVelocities(context)[1] ** 2)
    x, xdot = plant.GetPositionsAndVelocities(context), plant.EvalTimeDerivatives(context).CopyToVector()
    moving = plant.ToAutoDiffXd()
    later = moving.CreateDefaultContext()
    along = InitializeAutoDiff([0.0]).ravel()[0]
    moving.SetPositionsAndVelocities(later, x + along * xdot)
    rates = [
        ExtractGradient(np.array([[f(later)]])).item() for f in (moving.CalcPotentialEnergy, moving.CalcKineticEnergy)
    ]
    assert rates[0] == pytest.approx(-conservative, abs=EXACT)
    assert sum(rates) == pytest.approx(other, abs=1e-10)


def test_constants_are_those_of_the_context() -> None:
    plant = arm()
    context, same = in_motion(plant), in_motion(plant)
    plant.get_force_element(1).SetStiffness(context, 7.0)
    q, M = plant.GetPositions(context)[1], plant.CalcMassMatrix(context)
    assert plant.CalcPotentialEnergy(context) - plant.CalcPotentialEnergy(same) == pytest.approx(0.5 * 2.0 * q**2)
    change = M @ (vdot_of(plant, context) - vdot_of(plant, same))
    np.testing.assert_allclose(change, [0.0, -2.0 * q, *np.zeros(6)], atol=1e-10)


# -- other scalars ---------------------------------------------------------------------------------------------------


def gradient_of(plant: MultibodyPlant, context: Any) -> np.ndarray:
    of_derivatives = plant.ToAutoDiffXd()
    point = of_derivatives.CreateDefaultContext()
    x = plant.GetPositionsAndVelocities(context)
    of_derivatives.SetPositionsAndVelocities(point, InitializeAutoDiff(x).ravel())
    xdot = of_derivatives.EvalTimeDerivatives(point).CopyToVector()
    np.testing.assert_allclose(ExtractValue(xdot).ravel(), plant.EvalTimeDerivatives(context).CopyToVector(), atol=1e-9)
    return ExtractGradient(xdot)


def test_derivatives_are_those_of_differences() -> None:
    plant = arm()
    context = in_motion(plant)
    x = plant.GetPositionsAndVelocities(context)
    gradient = gradient_of(plant, context)
    step, columns = 1e-6, []
    for e in np.eye(len(x)):
        ends = []
        for sign in (1.0, -1.0):
            plant.SetPositionsAndVelocities(context, x + sign * step * e)
            ends.append(plant.EvalTimeDerivatives(context).CopyToVector())
        columns.append((ends[0] - ends[1]) / (2.0 * step))
    np.testing.assert_allclose(gradient, np.array(columns).T, atol=1e-7 * np.abs(gradient).max())


def test_closed_forms_of_derivatives_know_them() -> None:
    plant = arm()
    context = in_motion(plant)
    closed = algorithms.forward_dynamics_derivatives(plant, context)
    gradient = gradient_of(plant, context)[plant.num_positions() :]
    num_q = plant.num_positions()
    scale = 1e-11 * np.abs(gradient).max()
    np.testing.assert_allclose(closed.dvdot_dv, gradient[:, num_q:], atol=scale)
    joints = slice(0, 2)  # of the quaternion, both have derivatives on the sphere only
    np.testing.assert_allclose(closed.dvdot_dq[:, joints], gradient[:, joints], atol=scale)


def test_symbols_evaluate_to_the_numbers() -> None:
    symbolic = pytest.importorskip("merganser.framework.symbolic", exc_type=ImportError)
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("body", SpatialInertia.SolidSphereWithMass(2.0, 0.1))
    rail = plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), body.body_frame(), [1.0, 0.0, 0.0]))
    plant.AddForceElement(DuffingSpring(rail, 5.0, 20.0, 0.2))
    plant.Finalize()
    of_symbols = plant.ToSymbolic()
    context = of_symbols.CreateDefaultContext()
    q, v = symbolic.Variable("q"), symbolic.Variable("v")
    of_symbols.SetPositionsAndVelocities(context, np.array([symbolic.Expression(q), symbolic.Expression(v)]))
    vdot = of_symbols.EvalTimeDerivatives(context).CopyToVector()[1]
    assert vdot.Evaluate({q: 0.3, v: -0.7}) == pytest.approx((-1.5 - 20.0 * 0.027 + 0.14) / 2.0)


# -- systems ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("time_step", [0.0, 0.01])
def test_the_compiled_plan_and_python_agree_to_the_last_bit(time_step: float) -> None:
    ends = []
    for is_native in (False, True):
        builder = DiagramBuilder()
        plant = builder.AddNamedSystem("plant", arm(time_step))
        log = LogVectorOutput(plant.get_state_output_port(), builder, publish_period=0.02)
        simulator = Simulator(builder.Build())
        simulator.set_use_native_plan(is_native, at_once=True)
        context = plant.GetMyContextFromRoot(simulator.get_mutable_context())
        plant.SetPositionsAndVelocities(context, plant.GetPositionsAndVelocities(in_motion(plant)))
        simulator.AdvanceTo(0.1)
        ends.append(log.FindLog(simulator.get_context()).data().copy())
        if is_native:
            assert plant._dynamics.native.num_calls < 5  # of the dynamics in Python
    np.testing.assert_array_equal(*ends)
    assert np.abs(ends[0][:, -1] - ends[0][:, 0]).max() > 0.01


def test_energy_is_kept_over_a_simulation() -> None:
    plant = arm(damping=0.0)
    simulator = Simulator(plant)
    simulator.get_mutable_integrator().set_target_accuracy(1e-9)
    context = simulator.get_mutable_context()
    plant.SetPositionsAndVelocities(context, plant.GetPositionsAndVelocities(in_motion(plant)))
    energies = []
    for time in (0.0, 0.3):
        simulator.AdvanceTo(time)
        energies.append([plant.CalcKineticEnergy(context), plant.CalcPotentialEnergy(context)])
    assert abs(energies[1][0] - energies[0][0]) > 0.1
    assert sum(energies[1]) == pytest.approx(sum(energies[0]), abs=1e-6)


def test_output_ports_show_their_work() -> None:
    plant = arm()
    context = in_motion(plant)
    vdot = plant.get_generalized_acceleration_output_port().Eval(context)
    np.testing.assert_array_equal(vdot, vdot_of(plant, context))
    # What the world exerts on the first joint: momentum changes by it, gravity and the pull of the moon.
    forces = plant.get_reaction_forces_output_port().Eval(context)
    without = arm(has_elements=False)
    others = without.get_reaction_forces_output_port().Eval(in_motion(without))
    assert np.abs(forces[0].get_coeffs() - others[0].get_coeffs()).max() > 1.0
    all_forces = MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, all_forces)
    np.testing.assert_allclose(plant.CalcInverseDynamics(context, vdot, all_forces), 0.0, atol=1e-10)


def test_a_plant_from_another_process_moves_alike(tmp_path: Path) -> None:
    """A pickled plant has no addresses of the process that it comes from."""
    plant = arm()
    context = in_motion(plant)
    (tmp_path / "plant.pickle").write_bytes(pickle.dumps((plant, plant.GetPositionsAndVelocities(context))))
    (tmp_path / "load.py").write_text(
        f"import pickle, sys\nsys.path[:0] = {[str(Path(__file__).parents[4]), *sys.path]!r}\n"
        "plant, x = pickle.load(open(sys.argv[1], 'rb'))\n"
        "context = plant.CreateDefaultContext()\n"
        "plant.SetPositionsAndVelocities(context, x)\n"
        "print(*plant.EvalTimeDerivatives(context).CopyToVector().tolist())\n"
    )
    command = [sys.executable, str(tmp_path / "load.py"), str(tmp_path / "plant.pickle")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    xdot = plant.EvalTimeDerivatives(context).CopyToVector()
    np.testing.assert_array_equal([float(x) for x in done.stdout.split()], xdot)


# -- errors ----------------------------------------------------------------------------------------------------------


def test_an_element_that_has_no_force_is_named() -> None:
    plant = arm()
    context = in_motion(plant)
    p_WHand = plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("body1")).translation()
    q = plant.GetPositions(context)
    q[6:] = p_WHand
    plant.SetPositions(context, q)
    with pytest.raises(RuntimeError, match=r"Attraction.* has no force at time .*bodies are at one place"):
        plant.EvalTimeDerivatives(context)


def test_an_element_that_writes_beyond_its_arrays_ends_in_an_error() -> None:
    def add_far_away(element, constant, q_in, v_in, position_in, velocity_in, tau_out, F_out):
        tau_out[element["v"] + 1000000] += 1.0
        return FINE

    class Astray(DuffingSpring):
        kind = ForceElementKind("astray", add_far_away)

    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("body", SpatialInertia.SolidSphereWithMass(2.0, 0.1))
    rail = plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), body.body_frame(), [1.0, 0.0, 0.0]))
    plant.AddForceElement(Astray(rail, 1.0, 1.0, 1.0))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    with pytest.raises(RuntimeError, match=r"Astray.* has no force at time 0\.0 s: its kind, astray, has none"):
        plant.EvalTimeDerivatives(context)
    with pytest.raises(RuntimeError, match=r"energy.*Astray.*is not known: its kind, astray, has no add_energy"):
        plant.CalcPotentialEnergy(context)


def test_an_unknown_kind_is_refused_by_finalize() -> None:
    class Odd(DuffingSpring):
        kind: Any = "spring"

    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("body", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
    joint = plant.AddJoint(RevoluteJoint("joint", plant.world_frame(), body.body_frame(), [0.0, 0.0, 1.0]))
    plant.AddForceElement(Odd(joint, 1.0, 1.0, 1.0))
    with pytest.raises(TypeError, match="kind of a force element must be a ForceElementKind, not a str: 'spring'"):
        plant.Finalize()
    with pytest.raises(RuntimeError, match=r"no kind of force element with number 12345: known are 0 \(joint spring\)"):
        element_kind_of(12345)
    assert element_kind_of(layout.BUSHING).name == "bushing"
