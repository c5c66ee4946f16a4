"""Rows about single calls through the public functions: queries, linear approximations, conversions, first steps."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from libraries import MODELS, Call, Library, Row, load
from robots import Robot, available_robots, build_plant, chain

_ARM = MODELS / "iiwa_description" / "urdf"
_PLAIN, _PRIMITIVES, _MESHES = (
    _ARM / f"iiwa14_{kind}.urdf" for kind in ("no_collision", "primitive_collision", "polytope_collision")
)


def _arm(library: Library, path: Any, time_step: float) -> tuple[Any, Any, Any]:
    """A diagram with an arm on its base, the plant and the SceneGraph."""
    builder = library.framework.DiagramBuilder()
    plant, scene_graph = library.plant.AddMultibodyPlantSceneGraph(builder, time_step)
    load(library, plant, path)
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    plant.Finalize()
    return builder.Build(), plant, scene_graph


def query_calls(library: Library) -> dict[str, Call]:
    """Set new positions of an arm with spheres, boxes and cylinders and ask, by what is asked for."""
    diagram, plant, scene_graph = _arm(library, _PRIMITIVES, 0.001)
    context = diagram.CreateDefaultContext()
    plant_context, graph_context = (part.GetMyMutableContextFromRoot(context) for part in (plant, scene_graph))
    port = scene_graph.get_query_output_port()
    states = np.random.default_rng(1).uniform(-1.5, 1.5, (64, plant.num_positions()))

    def after_positions(ask: Any) -> Call:
        positions = itertools.cycle(list(states))

        def call(_alive: Any = diagram) -> Any:
            plant.SetPositions(plant_context, next(positions))
            return ask(port.Eval(graph_context))

        return call

    return {
        "penetrations": after_positions(lambda q: [pair.depth for pair in q.ComputePointPairPenetration()]),
        "pairwise distances": after_positions(
            lambda q: [pair.distance for pair in q.ComputeSignedDistancePairwiseClosestPoints()]
        ),
    }


def kinematics_of_arm(library: Library, what: str) -> Call:
    """Set new positions of an arm and ask for something of it, in as few calls as the library has for that."""
    _, plant, _ = _arm(library, _PRIMITIVES, 0.0)
    context, bodies = plant.CreateDefaultContext(), [plant.get_body(index) for index in _bodies(library, plant)]
    states = itertools.cycle(np.random.default_rng(1).uniform(-1.5, 1.5, (64, plant.num_multibody_states())))
    world, wrt, origin = plant.world_frame(), library.tree.JacobianWrtVariable.kV, np.zeros(3)
    frames = [body.body_frame() for body in bodies]
    is_ours = hasattr(plant, "EvalBodyPosesInWorld")

    def poses() -> Any:
        if is_ours:
            return plant.EvalBodyPosesInWorld(context)
        return np.array([plant.EvalBodyPoseInWorld(context, body).GetAsMatrix4() for body in bodies])

    def jacobians() -> Any:
        if is_ours:
            return plant.CalcBodyJacobiansInWorld(context)
        ask = plant.CalcJacobianSpatialVelocity
        return np.array([ask(context, wrt, frame, origin, world, world) for frame in frames])

    def dynamics() -> Any:
        if is_ours:
            return np.vstack(plant.CalcManipulatorDynamics(context))
        M, Cv = plant.CalcMassMatrix(context), plant.CalcBiasTerm(context)
        return np.vstack([M, Cv, plant.CalcGravityGeneralizedForces(context)])

    ask = {"poses": poses, "Jacobians": jacobians, "M, C v, tau_g": dynamics}[what]

    def call() -> Any:
        plant.SetPositionsAndVelocities(context, next(states))
        return ask()

    return call


def _bodies(library: Library, plant: Any) -> list[Any]:
    return [library.tree.BodyIndex(number) for number in range(plant.num_bodies())]


def linear_approximation(library: Library, robot: Robot) -> Call:
    """A first order approximation of a plant by its actuation."""
    plant = build_plant(library, robot)
    context = plant.CreateDefaultContext()
    port = plant.get_actuation_input_port()
    port.FixValue(context, np.zeros(plant.num_actuators()))
    plant.SetPositionsAndVelocities(context, 0.1 * np.arange(plant.num_multibody_states()) % 0.7)
    no_output = library.framework.OutputPortSelection.kNoOutput
    approximate = library.primitives.FirstOrderTaylorApproximation
    return lambda: approximate(plant, context, port.get_index(), no_output).A()


def conversion(library: Library, is_whole: bool) -> Call:
    """An arm of AutoDiffXd from one of floats; or its whole diagram, with the SceneGraph."""
    diagram, plant, _ = _arm(library, _PRIMITIVES, 0.0)
    if is_whole:
        return lambda: len(diagram.ToAutoDiffXd().GetSystems())
    return lambda _alive=diagram: plant.ToAutoDiffXd().num_positions()


def context_of_derivatives(library: Library) -> Call:
    """A Context of an arm of AutoDiffXd."""
    plant = _arm(library, _PRIMITIVES, 0.0)[1].ToAutoDiffXd()
    return lambda: plant.CreateDefaultContext().num_total_states()


def ten_steps(library: Library) -> Call:
    """A new Context and Simulator of an arm whose links are meshes, and ten steps."""
    diagram, plant, _ = _arm(library, _MESHES, 0.001)

    def call() -> Any:
        simulator = library.analysis.Simulator(diagram)
        context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        plant.get_actuation_input_port().FixValue(context, np.zeros(plant.num_actuators()))
        simulator.AdvanceTo(0.01)
        return plant.GetPositions(context)

    return call


def plant_of_a_file(library: Library) -> Call:
    """From a file of an arm that collides with nothing to a plant in a diagram."""
    return lambda: _arm(library, _PLAIN, 0.001)[1].num_positions()


def scene_of_meshes(library: Library) -> Call:
    """From a file of an arm whose links are meshes for contact to the first query, as a program does at its start."""

    def call() -> Any:
        diagram, _, scene_graph = _arm(library, _MESHES, 0.001)
        context = diagram.CreateDefaultContext()
        query = scene_graph.get_query_output_port().Eval(scene_graph.GetMyContextFromRoot(context))
        return len(query.ComputePointPairPenetration())

    return call


def hulls(library: Library) -> Call:
    """The convex hulls of the links of an arm, of 160,000 lines of files; of new shapes in each call."""
    links = sorted((MODELS / "iiwa_description" / "meshes" / "iiwa14" / "collision").glob("link_*.obj"))
    if library.plant.__name__.startswith("merganser"):
        from merganser.geometry import Convex
    else:
        from pydrake.geometry import Convex
    return lambda: [sum(Convex(str(link)).GetConvexHull().CalcBoundingBox()[1]) for link in links]


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    def row(name: str, make: Any, calls: int, *arguments: Any, **options: Any) -> Row:
        reference = None if theirs is None else functools.partial(make, theirs, *arguments)
        return Row(name, functools.partial(make, ours, *arguments), reference, calls, **options)

    if _PRIMITIVES.exists() and _MESHES.exists():
        for name in ("penetrations", "pairwise distances"):
            yield row(f"arm: SetPositions, {name}", _named(name), 200, tolerance=1e-4)  # theirs is iterative
        for what in ("poses", "Jacobians", "M, C v, tau_g"):
            yield row(f"arm: SetPositionsAndVelocities, all {what}", kinematics_of_arm, 500, what, tolerance=1e-9)
        yield row("arm: ToAutoDiffXd()", conversion, 10, False)
        yield row("arm and SceneGraph: ToAutoDiffXd()", conversion, 10, True)
        yield row("arm: a Context of AutoDiffXd", context_of_derivatives, 10)
        yield row("arm: from the file to a diagram", plant_of_a_file, 2)
        yield row("arm with meshes: from the file to the first query", scene_of_meshes, 2)
        yield row("links of an arm: convex hulls of mesh files", hulls, 1, tolerance=1e-6)
        yield row("arm with meshes: new Context, Simulator, ten steps", ten_steps, 2, tolerance=1e-6)
    for robot in (*(r for r in available_robots() if r.base), chain(30)):
        yield row(f"{robot.name}: linear approximation", linear_approximation, 10, robot, tolerance=1e-6)


def _named(name: str) -> Any:
    return lambda library: query_calls(library)[name]
