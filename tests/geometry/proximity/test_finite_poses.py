"""What is not finite is refused by name, or stays out of the broad phase."""

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Box,
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    HalfSpace,
    ProximityProperties,
    SceneGraph,
    Sphere,
)
from merganser.geometry.proximity import ProximityArrays, ProximityEngine
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from merganser.multibody.tree import SpatialInertia, UnitInertia

MANY = 140  # geometries: more than are tested each with each
BAD = (np.nan, np.inf, -np.inf, 1e308)


class Crowd:
    """A source with many balls, the last of which has a bad pose."""

    def __init__(self, number):
        self.graph = SceneGraph()
        self.source = self.graph.RegisterSource("source")
        self.frames = []
        for i in range(number):
            self.frames.append(self.graph.RegisterFrame(self.source, GeometryFrame(f"frame{i}")))
            instance = GeometryInstance(RigidTransform(), Sphere(0.3) if i % 2 else Box(0.3, 0.3, 0.3), f"ball{i}")
            instance.set_proximity_properties(ProximityProperties())
            self.graph.RegisterGeometry(self.source, self.frames[-1], instance)

    def query(self, row, column, value):
        X_WF = np.tile(np.eye(4), (len(self.frames), 1, 1))
        X_WF[:, 0, 3] = 0.4 * np.arange(len(self.frames))
        X_WF[-1, row, column] = value
        poses = FramePoseVector()
        poses.set_poses(self.frames, X_WF)
        context = self.graph.CreateDefaultContext()
        self.graph.get_source_pose_port(self.source).FixValue(context, poses)
        return self.graph.get_query_output_port().Eval(context)


QUERIES = {
    "penetration": lambda query: query.ComputePointPairPenetration(),
    "pairwise distances": lambda query: query.ComputeSignedDistancePairwiseClosestPoints(0.1),
    "points": lambda query: query.ComputeSignedDistanceToPoint([0.0, 0.0, 0.0]),
    "candidates": lambda query: query.FindCollisionCandidates(),
    "collisions": lambda query: query.HasCollisions(),
    "manifolds": lambda query: query.ComputeContactManifolds(),
}


@pytest.mark.parametrize("number", [3, MANY])
def test_every_query_refuses_poses_that_are_not_finite_by_name(number):
    crowd = Crowd(number)
    for (row, column), value in (((0, 3), np.nan), ((1, 1), np.nan), ((2, 3), np.inf), ((0, 0), -np.inf)):
        for ask in QUERIES.values():
            with pytest.raises(RuntimeError, match=rf"source_pose.*frame{number - 1}.*not finite"):
                ask(crowd.query(row, column, value))


def test_points_thresholds_and_margins_that_are_no_numbers_are_refused():
    query = Crowd(3).query(0, 3, 0.0)
    with pytest.raises(RuntimeError, match="NaN"):
        query.ComputeSignedDistancePairwiseClosestPoints(np.nan)
    with pytest.raises(RuntimeError, match="NaN"):
        query.ComputeSignedDistanceToPoint([0.0, 0.0, 0.0], np.nan)
    for p_WQ in ([np.nan, 0.0, 0.0], [0.0, np.inf, 0.0]):
        with pytest.raises(RuntimeError, match="finite"):
            query.ComputeSignedDistanceToPoint(p_WQ)
    for margin in (np.nan, np.inf, -1.0):
        with pytest.raises(RuntimeError, match="margin"):
            query.ComputeContactManifolds(margin)


@pytest.mark.parametrize("kind", [Sphere(0.3), HalfSpace()])
def test_the_broad_phase_leaves_out_what_is_nowhere(kind):
    """Nor does it write outside of its arrays: the numbers of cells would be those of NaN."""
    for number in (3, MANY):
        engine = ProximityEngine(ProximityArrays([Sphere(0.3)] * (number - 1) + [kind], range(number)))
        X_WG = np.tile(np.eye(4), (number, 1, 1))
        X_WG[:, 0, 3] = 0.5 * np.arange(number)
        expected = {(i, i + 1) for i in range(number - 2)}
        for row, column in ((0, 3), (1, 2), (2, 3)):
            for value in BAD:
                X_WG[-1] = np.eye(4)
                X_WG[-1, :3, 3] = 0.0, 0.0, -100.0
                X_WG[-1, row, column] = value
                found = {tuple(pair) for pair in engine.find_candidates(X_WG).tolist()}
                assert {pair for pair in found if number - 1 not in pair} == expected
                if not np.isfinite(value):
                    assert found == expected


def test_steps_of_many_bodies_refuse_a_state_that_is_not_finite():
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.001)
    inertia = SpatialInertia(1.0, np.zeros(3), UnitInertia.SolidSphere(0.1))
    for i in range(MANY):
        body = plant.AddRigidBody(f"body{i}", inertia)
        plant.RegisterCollisionGeometry(body, RigidTransform(), Sphere(0.1), f"ball{i}", CoulombFriction(0.5, 0.5))
    plant.Finalize()
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    x = context.get_mutable_discrete_state_vector().get_mutable_value()
    x[4 : plant.num_positions() : 7] = np.arange(MANY)
    x[4] = np.nan
    with pytest.raises(RuntimeError, match="not finite"):
        Simulator(diagram, context).AdvanceTo(0.002)
