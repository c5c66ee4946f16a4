"""The sensors of an MJCF file as one system, and what each measures, from the ports of a plant.

The frame F of a sensor is fixed to a body B, a frame R to which some are relative to another one; W is the world.

    v of F in R = v_WF - v_WR - w_WR x (p_WF - p_WR)                                      (3)
    L = sum_B (I_BBcm w_WB + m_B (p_WBcm - c) x (v_WBcm - c')), about the mass centre c of all  (4)

Equations (1) and (2) are in plant_sensors.py. As in MuJoCo, gravity is an acceleration: what rests accelerates upwards.

Source: the XML reference of MuJoCo, on sensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework import Context, DiagramBuilder
from merganser.framework.core.values.arguments import require_types
from merganser.framework.math import RigidTransform
from merganser.multibody.parsing import Parser
from merganser.multibody.parsing.description import BodyReference, ModelDescription, ShapeDescription
from merganser.multibody.parsing.instrument_description import SensorDescription, SensorSampling
from merganser.multibody.parsing.parser import described_model
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.sensors.plant_sensors import (
    Array,
    FrameOnBody,
    Measured,
    PlantSensors,
    Ports,
    SensorKind,
    Weighed,
    add_sensors,
    find_measured,
)
from merganser.multibody.tree import ModelInstanceIndex, Transmission

_LEAST_DEPTH = 1e-15  # by which a projection divides [m]


def _into(m: Measured, ports: Ports, a_W: Any, frame: int = 0) -> Array:
    """A vector, expressed in a frame of the sensor."""
    a_F: Array = ports.pose(m.frames[frame]).rotation().matrix().T @ a_W
    return a_F


def _proper_acceleration(m: Measured, ports: Ports) -> Array:
    a_W: Array = ports.acceleration(m.frames[0])[1] - m.gravity
    return a_W


def _force_at_site(m: Measured, ports: Ports) -> tuple[Array, Array]:
    """The torque and force of the parent on the body, at the site and in its frame."""
    assert m.joint is not None
    _, _, child, X_CJ, number = m.joint
    F_CJc_Jc, X_WJ = ports["reaction_forces"][number], ports.pose((child, X_CJ))
    X_WF = ports.pose(m.frames[0])
    F_CF_Jc = F_CJc_Jc.Shift(X_WJ.rotation().matrix().T @ (X_WF.translation() - X_WJ.translation()))
    R_FJ = (X_WF.rotation().inverse() @ X_WJ.rotation()).matrix()
    return R_FJ @ F_CF_Jc.rotational(), R_FJ @ F_CF_Jc.translational()


def _at_state(m: Measured, state: Array) -> tuple[Transmission, Context, float]:
    assert m.transmission is not None
    transmission, context, _ = m.transmission
    transmission.GetParentPlant().SetPositionsAndVelocities(context, state)
    return m.transmission


def _joint_position(m: Measured, ports: Ports) -> Any:
    state = ports["state"]
    if m.transmission is not None:
        transmission, context, gear = _at_state(m, state)
        return [gear * transmission.CalcLength(context)]
    return [sum(c * state[q] for q, _, c in m.coordinates)]


def _joint_velocity(m: Measured, ports: Ports) -> Any:
    state = ports["state"]
    if m.transmission is not None:
        transmission, context, gear = _at_state(m, state)
        return [gear * transmission.CalcRate(context)]
    return [sum(c * state[v] for _, v, c in m.coordinates)]


def _actuator_force(m: Measured, ports: Ports) -> Any:
    actuation = ports["net_actuation"]
    return [sum(actuation[number] / gear for number, gear in m.actuators)]


def _force_on_joint(m: Measured, ports: Ports) -> Any:
    """The force of all actuators on a joint, those along transmissions by their moment arms."""
    total, actuation = _actuator_force(m, ports)[0], ports["net_actuation"]
    for number, transmission, context in m.pulls:
        plant = transmission.GetParentPlant()
        plant.SetPositionsAndVelocities(context, ports["state"])
        velocity = m.coordinates[0][1] - plant.num_positions()
        total += actuation[number] * transmission.CalcMomentArms(context)[velocity]
    return [total]


def _beyond_limit(m: Measured, ports: Ports) -> tuple[float, float]:
    """Minus how far something is beyond a limit, and the rate of that; zeros within the limits."""
    if m.joint is None:
        (x,), (rate,) = _joint_position(m, ports), _joint_velocity(m, ports)
    else:  # a ball: the angle of its rotation
        F, M = _ball_frames(m, ports)
        turn = (ports.pose(F).inverse() @ ports.pose(M)).rotation().ToAngleAxis()
        x, rate = turn.angle(), turn.axis() @ _ball_velocity(m, ports)
    low, high = m.limits
    if x < low:
        return x - low, rate
    return (high - x, -rate) if x > high else (0.0, 0.0)


def _limit_force(m: Measured, ports: Ports) -> list[float]:
    """How hard limits push, in the elements of forces that the constants number."""
    assert m.constants is not None
    return [float(np.linalg.norm(ports["limit_forces"][m.constants]))]


def _energy(m: Measured, ports: Ports, calc: Callable[[MultibodyPlant, Context], Any]) -> list[float]:
    """An energy of the whole plant [J]."""
    assert m.whole is not None
    plant, context = m.whole
    plant.SetPositionsAndVelocities(context, ports["state"])
    return [float(calc(plant, context))]


def _projection(m: Measured, ports: Ports) -> Array:
    """Where the first frame is in the image of the camera that is the second one [pixels]."""
    assert m.constants is not None
    p_CF: Array = (ports.pose(m.frames[1]).inverse() @ ports.pose(m.frames[0])).translation()
    depth = p_CF[2] if abs(p_CF[2]) > _LEAST_DEPTH else math.copysign(_LEAST_DEPTH, p_CF[2])
    return m.constants[:2] * p_CF[:2] / depth + m.constants[2:]


def _range(m: Measured, ports: Ports) -> list[float]:
    """The distance along z to the nearest geometry, or -1."""
    assert m.rays is not None
    X_WF = ports.pose(m.frames[0])
    distance = m.rays.distance(ports["geometry_query"], X_WF.translation(), X_WF.rotation().matrix()[:, 2], m.passed)
    return [distance if distance < math.inf else -1.0]


def _is_inside_site(m: Measured, ports: Ports) -> list[float]:
    """1 if the first frame is in the shape around the second one, or 0."""
    assert m.shape is not None
    p = (ports.pose(m.frames[1]).inverse() @ ports.pose(m.frames[0])).translation()
    return [float(_is_inside(p, m.shape))]


def _ball_frames(m: Measured, ports: Ports) -> tuple[FrameOnBody, FrameOnBody]:
    assert m.joint is not None
    parent, X_PF, child, X_CM, _ = m.joint
    return (parent, X_PF), (child, X_CM)


def _ball_quaternion(m: Measured, ports: Ports) -> Array:
    F, M = _ball_frames(m, ports)
    return _quaternion(ports.pose(F).inverse() @ ports.pose(M))


def _ball_velocity(m: Measured, ports: Ports) -> Array:
    F, M = _ball_frames(m, ports)
    w_FM_W = ports.velocity(M)[0] - ports.velocity(F)[0]
    w_FM_M: Array = ports.pose(M).rotation().matrix().T @ w_FM_W
    return w_FM_M


def _quaternion(X: RigidTransform) -> Array:
    """[w, x, y, z] with w >= 0; the opposite one is the same rotation."""
    q: Array = X.rotation().ToQuaternion().wxyz()
    return -q if q[0] < 0.0 else q


def _frame_pose(m: Measured, ports: Ports) -> RigidTransform:
    X_WF = ports.pose(m.frames[0])
    return X_WF if len(m.frames) == 1 else ports.pose(m.frames[1]).inverse() @ X_WF


def _frame_velocity(m: Measured, ports: Ports) -> tuple[Array, Array]:
    """w and v (3)."""
    w, v = ports.velocity(m.frames[0])
    if len(m.frames) == 1:
        return w, v
    w_WR, v_WR = ports.velocity(m.frames[1])
    p_RF_W = ports.pose(m.frames[0]).translation() - ports.pose(m.frames[1]).translation()
    return _into(m, ports, w - w_WR, 1), _into(m, ports, v - v_WR - np.cross(w_WR, p_RF_W), 1)


def _centers(m: Measured, ports: Ports) -> tuple[list[Array], list[Array], Array, Array]:
    """Positions and velocities of the mass centres of bodies, and of all together."""
    frames = [(body.index, RigidTransform(body.p_BoBcm_B)) for body in m.bodies]
    p, v = [ports.pose(F).translation() for F in frames], [ports.velocity(F)[1] for F in frames]
    masses = np.array([body.mass for body in m.bodies])
    shares = masses / masses.sum() if masses.sum() > 0.0 else masses
    return p, v, shares @ np.array(p).reshape(-1, 3), shares @ np.array(v).reshape(-1, 3)


def _angular_momentum(m: Measured, ports: Ports) -> Array:
    """Equation (4)."""
    p, v, c, c_dot = _centers(m, ports)
    L = np.zeros(3)
    for body, p_cm, v_cm in zip(m.bodies, p, v):
        R = ports.pose((body.index, RigidTransform())).rotation().matrix()
        w = ports.velocity((body.index, RigidTransform()))[0]
        L += R @ (body.I_BBcm_B @ (R.T @ w)) + body.mass * np.cross(p_cm - c, v_cm - c_dot)
    return L


def _touch(m: Measured, ports: Ports) -> list[float]:
    """The normal forces of the contacts of the body that are in the shape of the site [N]."""
    results, X_WF = ports["contact_results"], ports.pose(m.frames[0])
    total = 0.0
    for i in range(results.num_point_pair_contacts()):
        info = results.point_pair_contact_info(i)
        bodies = int(info.bodyA_index()), int(info.bodyB_index())
        assert m.shape is not None
        if m.frames[0][0] in bodies and _is_inside(X_WF.inverse() @ info.contact_point(), m.shape):
            total += abs(float(info.contact_force() @ info.point_pair().nhat_BA_W))
    return [total]


def _is_inside(p: Array, shape: ShapeDescription) -> bool:
    """Whether a point is in a shape, in whose frame it is given."""
    d, (x, y, z) = np.array(shape.dimensions), p
    match shape.kind:
        case "Box":
            return bool((np.abs(p) <= 0.5 * d).all())
        case "Ellipsoid":
            return bool(np.sum((p / d) ** 2) <= 1.0)
        case "Cylinder":
            return bool(x * x + y * y <= d[0] ** 2 and abs(z) <= 0.5 * d[1])
        case "Capsule":
            beyond = max(0.0, abs(z) - 0.5 * d[1])
            return bool(x * x + y * y + beyond * beyond <= d[0] ** 2)
    return bool(p @ p <= d[0] ** 2)


_POSES, _VELOCITIES, _ACCELERATIONS = "body_poses", "body_spatial_velocities", "body_spatial_accelerations"
_MOVING = (_POSES, _VELOCITIES)
_ACCELERATING = (*_MOVING, _ACCELERATIONS)
_LOADED = (_POSES, "reaction_forces")
_FORCES = ("actuatorfrc", "tendonactuatorfrc")
_SENSORS = (
    SensorKind("accelerometer", 3, lambda m, ports: _into(m, ports, _proper_acceleration(m, ports)), _ACCELERATING),
    SensorKind("velocimeter", 3, lambda m, ports: _into(m, ports, ports.velocity(m.frames[0])[1]), _MOVING),
    SensorKind("gyro", 3, lambda m, ports: _into(m, ports, ports.velocity(m.frames[0])[0]), _MOVING),
    SensorKind("force", 3, lambda m, ports: _force_at_site(m, ports)[1], _LOADED),
    SensorKind("torque", 3, lambda m, ports: _force_at_site(m, ports)[0], _LOADED),
    SensorKind("magnetometer", 3, lambda m, ports: _into(m, ports, m.constants), (_POSES,)),
    SensorKind("touch", 1, _touch, (_POSES, "contact_results"), is_positive=True),
    *(SensorKind(name, 1, _joint_position, ("state",)) for name in ("jointpos", "tendonpos", "actuatorpos")),
    *(SensorKind(name, 1, _joint_velocity, ("state",)) for name in ("jointvel", "tendonvel", "actuatorvel")),
    *(SensorKind(name, 1, _actuator_force, ("net_actuation",)) for name in _FORCES),
    SensorKind("jointactuatorfrc", 1, _force_on_joint, ("net_actuation", "state")),
    *(
        SensorKind(f"{of}limitpos", 1, lambda m, ports: [_beyond_limit(m, ports)[0]], ("state", *_MOVING))
        for of in ("joint", "tendon")
    ),
    *(
        SensorKind(f"{of}limitvel", 1, lambda m, ports: [_beyond_limit(m, ports)[1]], ("state", *_MOVING))
        for of in ("joint", "tendon")
    ),
    *(SensorKind(f"{of}limitfrc", 1, _limit_force, ("limit_forces",), is_positive=True) for of in ("joint", "tendon")),
    SensorKind("rangefinder", 1, _range, (_POSES, "geometry_query")),
    SensorKind("camprojection", 2, _projection, (_POSES,)),
    SensorKind("insidesite", 1, _is_inside_site, (_POSES,)),
    SensorKind("ballquat", 4, _ball_quaternion, (_POSES,)),
    SensorKind("ballangvel", 3, _ball_velocity, _MOVING),
    SensorKind("framepos", 3, lambda m, ports: _frame_pose(m, ports).translation(), (_POSES,)),
    SensorKind("framequat", 4, lambda m, ports: _quaternion(_frame_pose(m, ports)), (_POSES,)),
    SensorKind("framexaxis", 3, lambda m, ports: _frame_pose(m, ports).rotation().matrix()[:, 0], (_POSES,)),
    SensorKind("frameyaxis", 3, lambda m, ports: _frame_pose(m, ports).rotation().matrix()[:, 1], (_POSES,)),
    SensorKind("framezaxis", 3, lambda m, ports: _frame_pose(m, ports).rotation().matrix()[:, 2], (_POSES,)),
    SensorKind("framelinvel", 3, lambda m, ports: _frame_velocity(m, ports)[1], _MOVING),
    SensorKind("frameangvel", 3, lambda m, ports: _frame_velocity(m, ports)[0], _MOVING),
    SensorKind("framelinacc", 3, _proper_acceleration, _ACCELERATING),
    SensorKind("frameangacc", 3, lambda m, ports: ports.acceleration(m.frames[0])[0], _ACCELERATING),
    SensorKind("subtreecom", 3, lambda m, ports: _centers(m, ports)[2], _MOVING),
    SensorKind("subtreelinvel", 3, lambda m, ports: _centers(m, ports)[3], _MOVING),
    SensorKind("subtreeangmom", 3, _angular_momentum, _MOVING),
    SensorKind("e_potential", 1, lambda m, ports: _energy(m, ports, MultibodyPlant.CalcPotentialEnergy), ("state",)),
    SensorKind("e_kinetic", 1, lambda m, ports: _energy(m, ports, MultibodyPlant.CalcKineticEnergy), ("state",)),
    SensorKind("clock", 1, lambda m, ports: [ports.time], ()),
)
MJCF_SENSORS = {kind.name: kind for kind in _SENSORS}


class MjcfSensors(PlantSensors):
    """All sensors of an MJCF file, as its <sensor> section describes them, without noise.

    Each has an output port of its name (`<kind><number>`, if it has none). Made by AddMjcfSensors().

    Args:
        plant: finalized; it has the model.
        instance: the model instance of the file in the plant.
        description: what the file says.
    """

    def __init__(self, plant: MultibodyPlant, instance: ModelInstanceIndex, description: ModelDescription) -> None:
        finder = PlantFinder(plant, instance)
        super().__init__(plant, [finder.find(sensor) for sensor in description.sensors])


def AddMjcfSensors(
    builder: DiagramBuilder, parser: Parser, model_instance: ModelInstanceIndex | None = None
) -> MjcfSensors:
    """Adds the sensors of an MJCF file to a diagram, wired to its plant.

    Args:
        builder: of the diagram that has the plant; range finders see the scene graph named "scene_graph" in it, and
            cannot be evaluated without one.
        parser: that has read the file into the plant, which is finalized now.
        model_instance: of the file; it may be left out if the parser has read one with sensors or cameras.

    Returns:
        The system, named `<model>_sensors`.

    Raises:
        RuntimeError: the plant is not finalized, or the parser has read no such model.
    """
    require_types("AddMjcfSensors", builder=(builder, DiagramBuilder))
    plant, instance, model = described_model("AddMjcfSensors", parser, model_instance, ("sensors", "cameras"))
    name = f"{plant.GetModelInstanceName(instance).replace('::', '_')}_sensors"
    system: MjcfSensors = add_sensors(builder, plant, MjcfSensors(plant, instance, model), name)
    return system


class PlantFinder:
    """Finds the objects of sensors and cameras in a plant.

    Args:
        plant: finalized.
        instance: of the model that has them.
    """

    def __init__(self, plant: MultibodyPlant, instance: ModelInstanceIndex) -> None:
        self._plant, self._instance = plant, instance
        self._scratch: Context | None = None  # for lengths and moment arms

    def find(self, sensor: SensorDescription) -> tuple[str, SensorKind, Measured, float, SensorSampling | None]:
        """A sensor, as PlantSensors takes it."""
        plant, kind = self._plant, MJCF_SENSORS[sensor.kind]
        actuators = [
            (int(plant.GetJointActuatorByName(name, self._instance).index()), gear) for name, gear in sensor.actuators
        ]
        scale = actuators[0][1] if sensor.joints and actuators else 1.0
        transmission = None
        if sensor.transmission:
            along = plant.GetTransmissionByName(sensor.transmission, self._instance)
            transmission = along, self._context(), actuators[0][1] if actuators else 1.0
        pulls: list[tuple[int, Transmission, Context]] = []
        if sensor.kind == "jointactuatorfrc":
            for index in plant.GetJointActuatorIndices(self._instance):
                of_actuator = plant.get_joint_actuator(index).transmission()
                if of_actuator is not None:
                    pulls.append((int(index), of_actuator, self._context()))
        joints = [(plant.GetJointByName(joint, self._instance), c * scale) for joint, c in sensor.joints]
        is_ball = any(joint.num_velocities() > 1 for joint, _ in joints)
        constants = sensor.constants
        if sensor.kind == "jointlimitfrc":
            constants = joints[0][0].velocity_start() + np.arange(joints[0][0].num_velocities())
        elif sensor.kind == "tendonlimitfrc":
            assert transmission is not None
            constants = np.array([plant.num_velocities() + int(transmission[0].index())])
        num_q = plant.num_positions()
        measured = find_measured(
            plant,
            kind,
            [(self._body(body), X_BF) for body, X_BF in sensor.frames],
            joints[0][0] if is_ball else None,
            transmission=transmission,
            pulls=tuple(pulls),
            coordinates=()
            if is_ball
            else tuple((joint.position_start(), num_q + joint.velocity_start(), c) for joint, c in joints),
            actuators=tuple(actuators),
            whole=(plant, self._context()) if sensor.kind in ("e_potential", "e_kinetic") else None,
            bodies=tuple(self.weigh(body) for body in sensor.bodies),
            shape=sensor.shape,
            limits=sensor.limits,
            constants=constants,
        )
        return sensor.name, kind, measured, sensor.cutoff, sensor.sampling

    def _context(self) -> Context:
        if self._scratch is None:
            self._scratch = self._plant.CreateDefaultContext()
        return self._scratch

    def _body(self, reference: BodyReference) -> Any:
        if reference == BodyReference.world():
            return self._plant.world_body()
        return self._plant.GetBodyByName(reference.body, self._instance)

    def number_of(self, reference: BodyReference) -> int:
        """The number of a body."""
        return int(self._body(reference).index())

    def weigh(self, reference: BodyReference) -> Weighed:
        """A body with its mass properties."""
        body = self._body(reference)
        M = body.default_spatial_inertia()
        p, mass = M.get_com(), M.get_mass()
        I_Bo = M.CalcRotationalInertia().CopyToFullMatrix3()
        return Weighed(int(body.index()), mass, p, I_Bo - mass * ((p @ p) * np.eye(3) - np.outer(p, p)))
