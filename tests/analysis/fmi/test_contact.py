"""FMUs of plants that are exported in the air, and find more contacts later than there was memory for."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fmu_diagrams import soft_ball
from fmu_host import ERROR, OK, FmuFile

from merganser.analysis import Simulator, SimulatorConfig
from merganser.analysis.fmi import ExportFmu, closed_plan
from merganser.analysis.fmi.closed_plan import ClosedPlan, context_apart
from merganser.analysis.fmi.description import Variables
from merganser.analysis.simulation.simulator_config import ApplySimulatorConfig
from merganser.framework import DiagramBuilder
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.math import RigidTransform
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    Box,
    HalfSpace,
    HeightField,
    ProximityProperties,
    Sphere,
)
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from merganser.multibody.tree import SpatialInertia

pytest.importorskip("ziglang", reason="ziglang, which links FMUs, is not installed (extra `fmi`)")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not may_compile(), reason="FMUs are made on Linux, of compiled code"
)

STEP, NUM_STEPS = 1.0 / 64.0, 10  # of communication [s]; sums of it are exact
FIXED = SimulatorConfig(max_step_size=0.0002, use_error_control=False)


def material(is_hydroelastic=False):
    properties = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(0.5, 0.5), dissipation=5.0, properties=properties)
    if is_hydroelastic:
        AddCompliantHydroelasticProperties(resolution_hint=0.01, hydroelastic_modulus=1e5, properties=properties)
    return properties


def falling(time_step, shapes, ground, is_hydroelastic=False):
    """Bodies that fall on the ground, from shapes and positions."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    plant.set_name("bricks")
    properties = material(is_hydroelastic)
    plant.RegisterCollisionGeometry(plant.world_body(), *ground, "ground", properties)
    bodies = []
    for n, (shape, _) in enumerate(shapes):
        bodies.append(plant.AddRigidBody(f"body{n}", SpatialInertia.SolidSphereWithMass(0.1, 0.02)))
        plant.RegisterCollisionGeometry(bodies[-1], RigidTransform(), shape, f"shape{n}", properties)
    plant.Finalize()
    builder.ExportOutput(plant.get_state_output_port(), "x")
    diagram = builder.Build()
    diagram.set_name("falling")
    context = diagram.CreateDefaultContext()
    own = plant.GetMyContextFromRoot(context)
    for body, (_, position) in zip(bodies, shapes, strict=True):
        plant.SetFreeBodyPose(own, body, RigidTransform(position))
    return diagram, context


def bricks(time_step=0.002):
    """Nine boxes side by side, and above each corner where four of them meet another one."""
    size, places = Box(0.04, 0.04, 0.04), [-0.041, 0.0, 0.041]
    shapes = [(size, [x, y, 0.03]) for x in places for y in places]
    shapes += [(size, [x, y, 0.075]) for x in (-0.0205, 0.0205) for y in (-0.0205, 0.0205)]
    return falling(time_step, shapes, (RigidTransform(), HalfSpace()))


def compliant_balls():
    """Two balls with contact surfaces."""
    shapes = [(Sphere(0.03), [0.0, 0.0, 0.04]), (Sphere(0.02), [0.005, 0.0, 0.1])]
    return falling(0.002, shapes, (RigidTransform([0.0, 0.0, -0.05]), Box(0.5, 0.5, 0.1)), is_hydroelastic=True)


def ball_on_hills():
    """A ball on terrain."""
    heights = 0.02 * np.sin(np.arange(12.0)) * np.ones((12, 1))
    return falling(0.002, [(Sphere(0.03), [0.0, 0.0, 0.06])], (RigidTransform(), HeightField(heights, 0.6, 0.6)))


def simulated(diagram, context, config):
    simulator, rows = Simulator(diagram, context.Clone()), []
    if config is not None:
        ApplySimulatorConfig(config, simulator)
    for n in range(NUM_STEPS):
        simulator.AdvanceTo((n + 1) * STEP)
        rows.append(diagram.get_output_port().Eval(simulator.get_context()))
    return np.array(rows)


def outputs_of(file):
    return [each.get("name") for each in file.root.iter("Float64") if each.get("causality") == "output"]


def stepped(instance, start, end):
    rows = []
    for n in range(start, end):
        assert instance.step(n * STEP, STEP) == OK, instance.messages
        rows.append(instance.get(*outputs_of(instance.file)))
    return np.array(rows)


SCENES = {
    "bricks": (bricks, FIXED),
    "bricks in continuous time": (lambda: bricks(0.0), FIXED),
    "compliant balls": (compliant_balls, FIXED),
    "soft ball": (soft_ball, FIXED),
}


@pytest.fixture(scope="module", params=SCENES)
def exported(request, tmp_path_factory):
    """A file, the outputs of the Simulator, and all of the file."""
    make, config = SCENES[request.param]
    diagram, context = make()
    path = tmp_path_factory.mktemp("fmu") / "scene.fmu"
    ExportFmu(diagram, path, kinds=("cs",), context=context, config=config)
    return FmuFile(path), simulated(diagram, context, config)


def test_a_unit_that_was_exported_in_the_air_takes_all_contacts_on_the_ground(exported):
    file, expected = exported
    assert (stepped(file.co_simulation().start(), 0, NUM_STEPS) == expected).all()


def test_instances_that_have_grown_share_nothing_and_begin_again(exported):
    file, expected = exported
    first, second = file.co_simulation().start(), file.co_simulation().start()
    for n in range(NUM_STEPS):  # side by side
        rows = stepped(first, n, n + 1), stepped(second, n, n + 1)
        assert (rows[0] == rows[1]).all()
    assert first.Reset() == OK
    assert (stepped(first.start(), 0, NUM_STEPS) == expected).all()


def serialized(instance, state):
    size = np.zeros(1, np.uint64)
    assert instance.SerializedFMUStateSize(int(state[0]), size) == OK
    content = np.zeros(int(size[0]), np.uint8)
    assert instance.SerializeFMUState(int(state[0]), content, len(content)) == OK
    return content


def test_states_from_before_and_after_growth_are_restored_in_any_instance(exported):
    file, expected = exported
    one, early, late = file.co_simulation().start(), np.zeros(1, np.uint64), np.zeros(1, np.uint64)
    assert one.GetFMUState(early) == OK
    stepped(one, 0, 7)
    assert one.GetFMUState(late) == OK
    before, after = serialized(one, early), serialized(one, late)
    assert len(after) > len(before)
    assert one.SetFMUState(int(early[0])) == OK
    assert (stepped(one, 0, NUM_STEPS) == expected).all()
    other = file.co_simulation()
    for content, start in ((after, 7), (before, 0), (after, 7)):
        again = np.zeros(1, np.uint64)
        assert other.DeserializeFMUState(content, len(content), again) == OK
        assert other.SetFMUState(int(again[0])) == OK
        assert (stepped(other, start, NUM_STEPS) == expected[start:]).all()
        assert other.FreeFMUState(again) == OK
    assert one.GetFMUState(early) == OK  # a state that was smaller takes one that is larger
    assert len(serialized(one, early)) >= len(after)
    assert one.FreeFMUState(early) == one.FreeFMUState(late) == OK


def test_damaged_states_are_refused(exported):
    file, _ = exported
    one, state, again = file.co_simulation().start(), np.zeros(1, np.uint64), np.zeros(1, np.uint64)
    assert one.GetFMUState(state) == OK
    content = serialized(one, state)
    assert one.DeserializeFMUState(content, len(content) - 64, again) == ERROR
    for place in range(64, 320, 8):  # where size and capacities are, among others
        damaged = content.copy()
        damaged[place : place + 8] = [0, 0, 0, 0, 0, 0, 0, 1]
        if one.DeserializeFMUState(damaged, len(damaged), again) == OK:
            assert one.FreeFMUState(again) == OK
    assert "these bytes are no state of this model" in one.messages[-1]


def test_any_order_of_calls_does_no_harm_to_instances_that_grow(exported):
    file, expected = exported
    draw, ones, states = random.Random(2), [file.co_simulation(), file.co_simulation()], np.zeros(2, np.uint64)

    def step(one, _):
        now = np.zeros(1)
        one.GetFloat64(np.zeros(1, np.uint32), 1, now, 1)  # the time
        return one.step(float(now[0]), STEP)

    def send(one, n):
        if not states[n]:
            return ERROR
        content, again = serialized(one, states[n:]), np.zeros(1, np.uint64)
        status = one.DeserializeFMUState(content, len(content), again)
        return one.SetFMUState(int(again[0])) or one.FreeFMUState(again) or status

    calls = [
        *[step] * 8,
        send,
        lambda one, _: one.EnterInitializationMode(False, 0.0, 0.0, False, 0.0),
        lambda one, _: one.ExitInitializationMode(),
        lambda one, n: one.GetFMUState(states[n:]),
        lambda one, n: one.SetFMUState(int(states[n])),
        lambda one, n: one.FreeFMUState(states[n:]),
        lambda one, n: one.Reset() if n and not draw.randrange(4) else OK,
    ]
    assert {draw.choice(calls)(draw.choice(ones), draw.randrange(2)) for _ in range(300)} == {OK, ERROR}
    for one in ones:
        assert one.Reset() == OK
        assert (stepped(one.start(), 0, NUM_STEPS) == expected).all()


def test_derivatives_for_the_solver_of_another_tool_take_all_contacts(tmp_path):
    diagram, context = bricks(0.0)
    ExportFmu(diagram, tmp_path / "me.fmu", kinds=("me",), context=context)
    instance = FmuFile(tmp_path / "me.fmu").model_exchange().start()
    flags, event = np.zeros(5, np.bool_), np.zeros(1)
    assert instance.UpdateDiscreteStates(flags, flags[1:], flags[2:], flags[3:], flags[4:], event) == OK
    assert instance.EnterContinuousTimeMode() == OK
    x = context.get_continuous_state_vector().CopyToVector()
    x[6 : 7 * 9 : 7] -= 0.011  # all boxes come down, into each other
    x[6 + 7 * 9 : 7 * 13 : 7] -= 0.017
    context.SetContinuousState(x)
    rates = np.zeros(len(x))
    assert instance.SetContinuousStates(x, len(x)) == OK
    assert instance.GetContinuousStateDerivatives(rates, len(x)) == OK, instance.messages
    assert (rates == diagram.EvalTimeDerivatives(context).CopyToVector()).all() and rates[7 * 13 :].max() > 1.0


def test_terrain_is_taken_along_where_there_is_some(tmp_path):
    diagram, context = ball_on_hills()
    ExportFmu(diagram, tmp_path / "hills.fmu", kinds=("cs",), context=context)
    expected = simulated(diagram, context, None)
    assert (stepped(FmuFile(tmp_path / "hills.fmu").co_simulation().start(), 0, NUM_STEPS) == expected).all()
    assert np.abs(expected[-1, 7:10]).max() > 0.1  # it rolls


OUT_OF_MEMORY = """
import resource, sys
sys.path.append(sys.argv[2])
from pathlib import Path
from fmu_host import FmuFile
instance = FmuFile(Path(sys.argv[1])).co_simulation().start()
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used, used))
statuses = [instance.step(0.01 * n, 0.01) for n in range(16)]
print(statuses[-1], *(message for message in instance.messages if "memory" in message))
"""


def test_an_error_names_the_plant_for_whose_contacts_there_is_no_memory(exported):
    file, _ = exported
    command = [sys.executable, "-c", OUT_OF_MEMORY, str(file.path), str(Path(__file__).parents[2] / "support")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{ERROR} fmi3DoStep: there is too little memory for all contacts of system '")


def test_outputs_that_replace_arrays_of_a_plant_do_not_leave_the_plan_behind(monkeypatch):
    """As when kernels are compiled on the way, which the records of a plant name."""
    diagram, context = compliant_balls()
    context = context_apart(context)
    plant = diagram.GetSubsystemByName("bricks")
    w = plant._dynamics.views.workspace(plant.GetMyContextFromRoot(context))
    tape = closed_plan.Tape

    def late_tape(*arguments):
        w.codes.setdefault("a kernel that was compiled late", None)
        return tape(*arguments)

    monkeypatch.setattr(closed_plan, "Tape", late_tape)
    variables = Variables(diagram, context, None, None, None)
    closed = ClosedPlan(Simulator(diagram, context), variables.computed, variables.output_ports)
    assert closed.plan.is_current() and closed.outputs.assembly.is_current()
    closed.image(False)
