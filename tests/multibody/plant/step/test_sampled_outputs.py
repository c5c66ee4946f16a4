"""Output ports that follow from forces: sampled at the steps of a discrete plant, or live.

Each test is named after the sentence of the API text that it checks.
"""

import copy
import itertools

import numpy as np
import pytest
from plants import arm_and_box, driven, no_actuation, pendulum, set_random_state

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LoadContext
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.primitives import MatrixGain
from merganser.multibody.plant import MultibodyPlant

H = 1e-2
DYNAMIC = ("body_spatial_accelerations", "generalized_acceleration", "net_actuation", "reaction_forces")
KINEMATIC = ("state", "body_poses", "body_spatial_velocities")


def plant_of(time_step=H, use_sampled=None):
    plant = MultibodyPlant(time_step)
    if use_sampled is not None:
        plant.SetUseSampledOutputPorts(use_sampled)
    return arm_and_box(time_step, plant=plant)


def context_of(plant, seed=1):
    context = plant.CreateDefaultContext()
    rng = set_random_state(plant, context, seed)
    plant.get_actuation_input_port().FixValue(context, rng.normal(size=2))
    return context


def outputs(plant, context, names=DYNAMIC):
    """The values of output ports as one array."""
    arrays = []
    for name in names:
        value = plant.GetOutputPort(name).Eval(context)
        if name == "body_poses":
            value = [X_WB.GetAsMatrix4() for X_WB in value]
        elif isinstance(value, list):
            value = [V.get_coeffs() for V in value]
        arrays.append(np.ravel(value))
    return np.concatenate(arrays)


def stepped(plant, context):
    after = context.Clone()
    plant.ExecuteForcedEvents(after)
    return after


# -- configuration -----------------------------------------------------------------------------------


def test_sampling_is_the_default_of_discrete_plants_and_opt_out():
    assert plant_of().has_sampled_output_ports()
    assert plant_of(use_sampled=True).has_sampled_output_ports()
    assert not plant_of(use_sampled=False).has_sampled_output_ports()


def test_if_the_plant_is_continuous_has_sampled_output_ports_returns_false():
    assert not plant_of(0.0).has_sampled_output_ports()
    assert not plant_of(0.0, use_sampled=False).has_sampled_output_ports()


def test_sampling_cannot_be_chosen_after_finalize_or_for_a_continuous_plant():
    plant = MultibodyPlant(0.0)
    plant.set_name("robot")
    with pytest.raises(RuntimeError, match="'::robot' is continuous"):
        plant.SetUseSampledOutputPorts(True)
    assert not plant.has_sampled_output_ports()
    plant = plant_of()
    with pytest.raises(RuntimeError, match="finalized already"):
        plant.SetUseSampledOutputPorts(False)
    assert plant.has_sampled_output_ports()


def test_the_sample_is_an_abstract_state_that_comes_with_sampling():
    assert [plant_of(h, s).CreateDefaultContext().num_abstract_states() for h, s in ((H, True), (H, False))] == [1, 0]
    assert plant_of(0.0).CreateDefaultContext().num_abstract_states() == 0


def test_the_update_is_unrestricted_with_a_sample_and_discrete_without():
    for use_sampled, counts in ((True, (3, 0)), (False, (0, 3))):
        plant = plant_of(use_sampled=use_sampled)
        simulator = Simulator(plant)
        no_actuation(plant, simulator.get_mutable_context())
        simulator.AdvanceTo(2.5 * H)
        assert (simulator.get_num_unrestricted_updates(), simulator.get_num_discrete_updates()) == counts
        assert plant.IsDifferenceEquationSystem()[0] == (not use_sampled)


def test_sampling_changes_nothing_about_the_motion():
    results = []
    for use_sampled in (True, False):
        simulator = Simulator(plant := plant_of(use_sampled=use_sampled))
        context = simulator.get_mutable_context()
        set_random_state(plant, context, 2)
        plant.get_actuation_input_port().FixValue(context, [0.3, -0.4])
        simulator.AdvanceTo(10.5 * H)
        results.append(plant.GetPositionsAndVelocities(context))
    np.testing.assert_array_equal(results[0], results[1])


# -- feedthrough -------------------------------------------------------------------------------------


@pytest.mark.parametrize("time_step, use_sampled", [(0.0, None), (H, False), (H, True)])
def test_live_ports_are_direct_feedthrough_and_sampled_ones_are_not(time_step, use_sampled):
    plant = plant_of(time_step, use_sampled)
    actuation, generalized, spatial = (
        plant.GetInputPort(name).get_index()
        for name in ("actuation", "applied_generalized_force", "applied_spatial_force")
    )
    for name in (*DYNAMIC, "arm_generalized_acceleration", "arm_net_actuation"):
        port = plant.GetOutputPort(name).get_index()
        for source in (actuation, generalized, spatial):
            assert plant.HasDirectFeedthrough(source, port) == (not use_sampled)
    for name in (*KINEMATIC, "arm_state", "geometry_pose"):
        assert not plant.HasDirectFeedthrough(plant.GetOutputPort(name).get_index())


# -- sampled -----------------------------------------------------------------------------------------


def test_before_the_first_step_sampled_outputs_are_zero_and_need_no_input():
    plant = plant_of()
    context = plant.CreateDefaultContext()
    set_random_state(plant, context, 1)
    assert not outputs(plant, context).any()
    arm = plant.GetModelInstanceByName("arm")
    assert not plant.get_generalized_acceleration_output_port(arm).Eval(context).any()
    assert not plant.get_net_actuation_output_port(arm).Eval(context).any()
    assert len(plant.get_reaction_forces_output_port().Eval(context)) == plant.num_joints()
    assert len(plant.get_body_spatial_accelerations_output_port().Eval(context)) == plant.num_bodies()


def test_initialization_takes_no_step_and_the_first_advance_does():
    plant = plant_of()
    simulator = Simulator(plant, context_of(plant))
    simulator.Initialize()
    assert not outputs(plant, simulator.get_context()).any()
    simulator.AdvancePendingEvents()
    assert outputs(plant, simulator.get_context()).any()


def test_sampled_outputs_are_computed_from_state_and_inputs_before_the_step():
    """They equal live outputs there."""
    plant, live = plant_of(), plant_of(use_sampled=False)
    context, live_context = context_of(plant), context_of(live)
    expected = outputs(live, live_context)
    plant.ExecuteForcedEvents(context)
    np.testing.assert_array_equal(outputs(plant, context), expected)
    live.ExecuteForcedEvents(live_context)  # the state has moved on, in both
    np.testing.assert_array_equal(outputs(plant, context, KINEMATIC), outputs(live, live_context, KINEMATIC))
    assert np.abs(outputs(live, live_context) - expected).max() > 1e-3


@pytest.mark.parametrize("change", ["positions", "velocities", "inputs", "time", "parameters", "gravity"])
def test_changes_of_the_context_affect_sampled_outputs_only_after_the_next_step(change):
    plant = plant_of()
    context = stepped(plant, context_of(plant))
    before, kinematics = outputs(plant, context), outputs(plant, context, KINEMATIC)
    if change == "positions":
        plant.SetPositions(context, plant.GetPositions(context) + 0.1)
    elif change == "velocities":
        plant.SetVelocities(context, plant.GetVelocities(context) + 0.1)
    elif change == "inputs":
        plant.get_actuation_input_port().FixValue(context, [5.0, 6.0])
    elif change == "time":
        context.SetTime(3.0)
    elif change == "parameters":
        plant.GetBodyByName("tool").SetMass(context, 17.0)
    else:
        context.get_mutable_numeric_parameter(plant._views.gravity_group).SetFromVector([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(outputs(plant, context), before)
    if change in ("positions", "velocities"):  # kinematic outputs are always live
        assert np.abs(outputs(plant, context, KINEMATIC) - kinematics).max() > 0.01
    if change != "time":
        undisturbed = stepped(plant, stepped(plant, context_of(plant)))
        assert np.abs(outputs(plant, stepped(plant, context)) - outputs(plant, undisturbed)).max() > 1e-3


def test_forced_events_take_a_step_and_change_outputs_and_positions():
    plant = plant_of()
    context = context_of(plant)
    q = plant.GetPositions(context)
    plant.ExecuteForcedEvents(context)
    assert outputs(plant, context).any() and np.abs(plant.GetPositions(context) - q).max() > 0.0
    assert context.get_time() == 0.0


def test_a_forced_discrete_update_does_nothing_and_an_unrestricted_one_steps():
    plant = plant_of()
    context = context_of(plant)
    x = plant.GetPositionsAndVelocities(context)
    update = plant.AllocateDiscreteVariables()
    plant.CalcForcedDiscreteVariableUpdate(context, update)
    np.testing.assert_array_equal(update.get_vector(0).CopyToVector(), x)
    state = context.get_state().Clone()
    plant.CalcForcedUnrestrictedUpdate(context, state)
    after = stepped(plant, context)
    np.testing.assert_array_equal(state.get_discrete_state(0).CopyToVector(), plant.GetPositionsAndVelocities(after))
    assert not outputs(plant, context).any()  # it has computed a step, not taken it
    np.testing.assert_array_equal(plant.GetPositionsAndVelocities(context), x)


def test_functions_of_the_plant_use_current_values_not_the_sample():
    plant, live = plant_of(), plant_of(use_sampled=False)
    context, live_context = stepped(plant, context_of(plant)), stepped(live, context_of(live))
    body = plant.GetBodyByName("tool")
    A_WB_W = plant.EvalBodySpatialAccelerationInWorld(context, body).get_coeffs()
    live_body = live.GetBodyByName("tool")
    expected = live.EvalBodySpatialAccelerationInWorld(live_context, live_body).get_coeffs()
    np.testing.assert_array_equal(A_WB_W, expected)
    sampled = plant.get_body_spatial_accelerations_output_port().Eval(context)[body.index()].get_coeffs()
    assert np.abs(A_WB_W - sampled).max() > 1e-3


def test_default_values_have_no_sample():
    plant = plant_of()
    context = stepped(plant, context_of(plant))
    plant.SetDefaultContext(context)
    assert not outputs(plant, context).any()


def test_the_sample_goes_with_clones_copies_and_files(tmp_path):
    plant = plant_of()
    context = stepped(plant, context_of(plant))
    expected = outputs(plant, context)
    clone, other = context.Clone(), plant.CreateDefaultContext()
    other.SetTimeStateAndParametersFrom(context)
    context.Save(tmp_path / "context.npz")
    plant.ExecuteForcedEvents(context)
    for kept in (clone, copy.deepcopy(clone), other, LoadContext(plant, tmp_path / "context.npz")):
        np.testing.assert_array_equal(outputs(plant, kept), expected)
    assert np.abs(outputs(plant, context) - expected).max() > 1e-3
    assert not outputs(plant, plant.CreateDefaultContext()).any()


def test_a_step_that_fails_leaves_state_and_sample():
    plant = plant_of()
    context = stepped(plant, context_of(plant))
    before, x = outputs(plant, context), plant.GetPositionsAndVelocities(context)
    plant.get_actuation_input_port().FixValue(context, [np.nan, 0.0])
    with pytest.raises(RuntimeError, match="actuation"):
        plant.ExecuteForcedEvents(context)
    np.testing.assert_array_equal(outputs(plant, context), before)
    np.testing.assert_array_equal(plant.GetPositionsAndVelocities(context), x)


# -- live --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("time_step", [0.0, H])
def test_live_outputs_reflect_state_inputs_and_parameters_at_once(time_step):
    plant = plant_of(time_step, False)
    context = context_of(plant)
    seen = [outputs(plant, context)]
    plant.get_actuation_input_port().FixValue(context, [5.0, 6.0])
    seen.append(outputs(plant, context))
    plant.SetPositions(context, plant.GetPositions(context) + 0.1)
    seen.append(outputs(plant, context))
    plant.GetBodyByName("tool").SetMass(context, 17.0)
    seen.append(outputs(plant, context))
    for before, after in itertools.pairwise(seen):
        assert np.abs(after - before).max() > 1e-3
    tool = plant.GetBodyByName("tool")
    A_WB_W = plant.get_body_spatial_accelerations_output_port().Eval(context)[tool.index()]
    expected = plant.EvalBodySpatialAccelerationInWorld(context, tool).get_coeffs()
    np.testing.assert_allclose(A_WB_W.get_coeffs(), expected, rtol=1e-12, atol=1e-12)


def test_acceleration_outputs_are_those_of_the_derivatives_or_of_the_step():
    continuous, discrete = plant_of(0.0), plant_of(use_sampled=False)
    context = context_of(continuous)
    vdot = continuous.get_generalized_acceleration_output_port().Eval(context)
    np.testing.assert_array_equal(vdot, continuous.EvalTimeDerivatives(context).CopyToVector()[9:])
    context = context_of(discrete)
    vdot = discrete.get_generalized_acceleration_output_port().Eval(context)
    v_next = discrete.EvalUniquePeriodicDiscreteUpdate(context).value()[9:]
    np.testing.assert_array_equal(vdot, (v_next - discrete.GetVelocities(context)) / H)
    arm = discrete.GetModelInstanceByName("arm")
    of_arm = discrete.get_generalized_acceleration_output_port(arm).Eval(context)
    np.testing.assert_array_equal(of_arm, discrete.GetVelocitiesFromArray(arm, vdot))


def test_the_world_does_not_accelerate():
    plant = pendulum(0.0)
    A_WB_W = plant.get_body_spatial_accelerations_output_port().Eval(plant.CreateDefaultContext())
    assert not A_WB_W[0].get_coeffs().any()


def test_a_sampled_acceleration_may_drive_the_plant_but_a_live_one_is_a_loop():
    for use_sampled in (True, False):
        builder = DiagramBuilder()
        plant = builder.AddSystem(plant_of(use_sampled=use_sampled))
        gain = builder.AddSystem(MatrixGain(np.array([[-0.1, 0.0], [0.0, -0.1]])))
        arm = plant.GetModelInstanceByName("arm")
        builder.Connect(plant.get_generalized_acceleration_output_port(arm), gain.get_input_port())
        builder.Connect(gain.get_output_port(), plant.get_actuation_input_port())
        if use_sampled:
            Simulator(builder.Build()).AdvanceTo(3 * H)
        else:
            with pytest.raises(RuntimeError, match="Algebraic loop"):
                builder.Build()


def test_net_actuation_of_a_simulation_is_that_of_the_last_step():
    plant = pendulum(H, motor=True)
    diagram, _ = driven(plant, lambda t: 1.0 + t)
    simulator = Simulator(diagram)
    simulator.AdvanceTo(2.5 * H)
    context = plant.GetMyContextFromRoot(simulator.get_context())
    assert plant.get_net_actuation_output_port().Eval(context) == pytest.approx([1.0 + 2 * H])
    assert plant.get_actuation_input_port().Eval(context) == pytest.approx([1.0 + 2.5 * H])


# -- the sample as abstract state ----------------------------------------------------------------------


@pytest.mark.parametrize("has_room", [False, True])
def test_what_is_no_sample_is_refused_and_leaves_the_sample_as_it_was(has_room):
    plant = plant_of()
    context = stepped(plant, context_of(plant))
    if has_room:
        plant._dynamics.native.sample_buffers_in(context)
    before = context.get_abstract_state(0).get_value()
    for wrong in (5, (), before[:-1], (before[0][:-1], *before[1:]), (*before[:-1], 1.0)):
        with pytest.raises(TypeError, match="abstract state of a plant"):
            context.SetAbstractState(0, wrong)
        assert context.get_abstract_state(0).get_value() is before
    context.SetAbstractState(0, None)
    np.testing.assert_array_equal(outputs(plant, context), 0.0)


@pytest.mark.parametrize("has_room", [False, True])
def test_a_context_takes_the_sample_of_one_of_autodiff_without_derivatives(has_room):
    plant = pendulum(H)
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [0.3])
    expected = outputs(plant, stepped(plant, context))
    other = plant.ToAutoDiffXd()
    source = other.CreateDefaultContext()
    other.SetPositions(source, np.array([AutoDiffXd(0.3, [1.0])]))
    other.ExecuteForcedEvents(source)
    source.SetTime(1.5)
    if has_room:
        plant._dynamics.native.sample_buffers_in(context)
    context.SetTimeStateAndParametersFrom(source)
    assert context.get_time() == 1.5
    np.testing.assert_allclose(outputs(plant, context), expected, rtol=1e-12, atol=1e-14)
    if has_room:  # whatever is asked of it: a plan reads floats there
        sample = context.get_abstract_state(0).get_value()
        assert all(array.dtype == float for array in sample[:-2])
