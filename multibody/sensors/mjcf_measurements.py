"""Measurements of the sensors of an MJCF file, from the ports of a plant.

The frame F of a sensor is fixed to a body B, a frame R to which some are relative to another one; W is the world.

    p_WF = p_WB + R_WB p_BF,   v_WF = v_WB + w_WB x p_BF_W                                (1)
    a_WF = a_WB + alpha_WB x p_BF_W + w_WB x (w_WB x p_BF_W)                              (2)
    v of F in R = v_WF - v_WR - w_WR x (p_WF - p_WR)                                      (3)
    L = sum_B (I_BBcm w_WB + m_B (p_WBcm - c) x (v_WBcm - c')), about the mass centre c of all  (4)

As in MuJoCo, gravity is an acceleration: what rests accelerates upwards.

Source: the XML reference of MuJoCo, on sensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.math import RigidTransform
from merganser.geometry import FrameId, QueryObject
from merganser.geometry.scene.rays import RayCaster
from merganser.multibody.parsing.description import ShapeDescription

Array = NDArray[Any]
_LEAST_DEPTH = 1e-15  # by which a projection divides [m]
_FRAME_AXES = {"framexaxis": 0, "frameyaxis": 1, "framezaxis": 2}


@dataclass(frozen=True)
class Weighed:
    """A body with its mass, mass centre and central inertia, in its frame [kg, m, kg m^2]."""

    index: int
    mass: float
    p_BoBcm_B: Array
    I_BBcm_B: Array


@dataclass(frozen=True, eq=False)
class Measured:
    """The object of one sensor, in terms of a finalized plant.

    Attributes:
        frames: numbers of bodies and poses in them.
        coordinates: places of positions, of velocities among the states, and coefficients.
        joint: numbers of its two bodies, its frames on these, and its number; of ball joints, and of reaction forces.
        actuators: their numbers, and gears by which forces are divided.
        bodies: of a subtree.
        shape: in which contacts or the first frame count, around the last frame.
        gravity: in the world [m/s^2].
        limits: whose distance counts [rad or m].
        constants: see SensorDescription.
        rays: casts those of a range finder, which pass the geometries of the frames `passed`.
    """

    frames: tuple[tuple[int, RigidTransform], ...] = ()
    coordinates: tuple[tuple[int, int, float], ...] = ()
    joint: tuple[int, RigidTransform, int, RigidTransform, int] | None = None
    actuators: tuple[tuple[int, float], ...] = ()
    bodies: tuple[Weighed, ...] = ()
    shape: ShapeDescription | None = None
    gravity: Array | None = None
    limits: tuple[float, float] = (-math.inf, math.inf)
    constants: Array | None = None
    rays: RayCaster | None = None
    passed: tuple[FrameId, ...] = ()


class Ports:
    """Values of the ports of the plant, each read when needed.

    Args:
        eval_port: gives the value of the port of a name.
        time: [s].
    """

    def __init__(self, eval_port: Callable[[str], Any], time: float) -> None:
        self._eval, self.time = eval_port, time

    def state(self) -> Array:
        state: Array = self._eval("state")
        return state

    def net_actuation(self) -> Array:
        actuation: Array = self._eval("net_actuation")
        return actuation

    def reaction(self, joint: int) -> Any:
        return self._eval("reaction_forces")[joint]

    def contacts(self) -> Any:
        return self._eval("contact_results")

    def query(self) -> QueryObject:
        query: QueryObject = self._eval("geometry_query")
        return query

    def pose(self, frame: tuple[int, RigidTransform]) -> RigidTransform:
        """X_WF (1)."""
        X_WB: RigidTransform = self._eval("body_poses")[frame[0]]
        return X_WB @ frame[1]

    def velocity(self, frame: tuple[int, RigidTransform]) -> tuple[Array, Array]:
        """w_WF and v_WF (1)."""
        X_WB, V = self._eval("body_poses")[frame[0]], self._eval("body_spatial_velocities")[frame[0]]
        moved = V.Shift(X_WB.rotation() @ frame[1].translation())
        return moved.rotational(), moved.translational()

    def acceleration(self, frame: tuple[int, RigidTransform]) -> tuple[Array, Array]:
        """alpha_WF and a_WF (2)."""
        X_WB, V = self._eval("body_poses")[frame[0]], self._eval("body_spatial_velocities")[frame[0]]
        A = self._eval("body_spatial_accelerations")[frame[0]]
        moved = A.Shift(X_WB.rotation() @ frame[1].translation(), V.rotational())
        return moved.rotational(), moved.translational()


Calc = Callable[[Measured, Ports], Any]


@dataclass(frozen=True)
class Measurement:
    """One kind of sensor.

    Attributes:
        size: of what it measures.
        calc: computes it.
        inputs: names of the ports of the plant that it looks at.
    """

    size: int
    calc: Calc
    inputs: tuple[str, ...]


def _into(m: Measured, ports: Ports, a_W: Array, frame: int = 0) -> Array:
    """A vector, expressed in a frame of the sensor."""
    a_F: Array = ports.pose(m.frames[frame]).rotation().matrix().T @ a_W
    return a_F


def _accelerometer(m: Measured, ports: Ports) -> Array:
    return _into(m, ports, ports.acceleration(m.frames[0])[1] - m.gravity)


def _velocimeter(m: Measured, ports: Ports) -> Array:
    return _into(m, ports, ports.velocity(m.frames[0])[1])


def _gyro(m: Measured, ports: Ports) -> Array:
    return _into(m, ports, ports.velocity(m.frames[0])[0])


def _magnetometer(m: Measured, ports: Ports) -> Array:
    assert m.constants is not None
    return _into(m, ports, m.constants)


def _force_at_site(m: Measured, ports: Ports) -> tuple[Array, Array]:
    """The torque and force of the parent on the body, at the site and in its frame."""
    assert m.joint is not None
    _, _, child, X_CJ, number = m.joint
    F_CJc_Jc, X_WJ = ports.reaction(number), ports.pose((child, X_CJ))
    X_WF = ports.pose(m.frames[0])
    F_CF_Jc = F_CJc_Jc.Shift(X_WJ.rotation().matrix().T @ (X_WF.translation() - X_WJ.translation()))
    R_FJ = (X_WF.rotation().inverse() @ X_WJ.rotation()).matrix()
    return R_FJ @ F_CF_Jc.rotational(), R_FJ @ F_CF_Jc.translational()


def _joint_position(m: Measured, ports: Ports) -> Any:
    state = ports.state()
    return [sum(c * state[q] for q, _, c in m.coordinates)]


def _joint_velocity(m: Measured, ports: Ports) -> Any:
    state = ports.state()
    return [sum(c * state[v] for _, v, c in m.coordinates)]


def _actuator_force(m: Measured, ports: Ports) -> Any:
    actuation = ports.net_actuation()
    return [sum(actuation[number] / gear for number, gear in m.actuators)]


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


def _part_of_limit(part: int) -> Calc:
    return lambda m, ports: [_beyond_limit(m, ports)[part]]


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
    distance = m.rays.distance(ports.query(), X_WF.translation(), X_WF.rotation().matrix()[:, 2], m.passed)
    return [distance if distance < math.inf else -1.0]


def _is_inside_site(m: Measured, ports: Ports) -> list[float]:
    """1 if the first frame is in the shape around the second one, or 0."""
    assert m.shape is not None
    p = (ports.pose(m.frames[1]).inverse() @ ports.pose(m.frames[0])).translation()
    return [float(_is_inside(p, m.shape))]


def _ball_frames(m: Measured, ports: Ports) -> tuple[tuple[int, RigidTransform], tuple[int, RigidTransform]]:
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


def _frame_axis(axis: int) -> Calc:
    return lambda m, ports: _frame_pose(m, ports).rotation().matrix()[:, axis]


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
    results, X_WF = ports.contacts(), ports.pose(m.frames[0])
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
MEASUREMENTS = {
    "accelerometer": Measurement(3, _accelerometer, _ACCELERATING),
    "velocimeter": Measurement(3, _velocimeter, _MOVING),
    "gyro": Measurement(3, _gyro, _MOVING),
    "force": Measurement(3, lambda m, ports: _force_at_site(m, ports)[1], _LOADED),
    "torque": Measurement(3, lambda m, ports: _force_at_site(m, ports)[0], _LOADED),
    "magnetometer": Measurement(3, _magnetometer, (_POSES,)),
    "touch": Measurement(1, _touch, (_POSES, "contact_results")),
    **dict.fromkeys(("jointpos", "tendonpos", "actuatorpos"), Measurement(1, _joint_position, ("state",))),
    **dict.fromkeys(("jointvel", "tendonvel", "actuatorvel"), Measurement(1, _joint_velocity, ("state",))),
    **dict.fromkeys(("actuatorfrc", "jointactuatorfrc"), Measurement(1, _actuator_force, ("net_actuation",))),
    **{
        f"{of}limit{what}": Measurement(1, _part_of_limit(part), ("state", *_MOVING))
        for of in ("joint", "tendon")
        for part, what in enumerate(("pos", "vel"))
    },
    "rangefinder": Measurement(1, _range, (_POSES, "geometry_query")),
    "camprojection": Measurement(2, _projection, (_POSES,)),
    "insidesite": Measurement(1, _is_inside_site, (_POSES,)),
    "ballquat": Measurement(4, _ball_quaternion, (_POSES,)),
    "ballangvel": Measurement(3, _ball_velocity, _MOVING),
    "framepos": Measurement(3, lambda m, ports: _frame_pose(m, ports).translation(), (_POSES,)),
    "framequat": Measurement(4, lambda m, ports: _quaternion(_frame_pose(m, ports)), (_POSES,)),
    **{name: Measurement(3, _frame_axis(axis), (_POSES,)) for name, axis in _FRAME_AXES.items()},
    "framelinvel": Measurement(3, lambda m, ports: _frame_velocity(m, ports)[1], _MOVING),
    "frameangvel": Measurement(3, lambda m, ports: _frame_velocity(m, ports)[0], _MOVING),
    "framelinacc": Measurement(3, lambda m, ports: ports.acceleration(m.frames[0])[1] - m.gravity, _ACCELERATING),
    "frameangacc": Measurement(3, lambda m, ports: ports.acceleration(m.frames[0])[0], _ACCELERATING),
    "subtreecom": Measurement(3, lambda m, ports: _centers(m, ports)[2], _MOVING),
    "subtreelinvel": Measurement(3, lambda m, ports: _centers(m, ports)[3], _MOVING),
    "subtreeangmom": Measurement(3, _angular_momentum, _MOVING),
    "clock": Measurement(1, lambda m, ports: [ports.time], ()),
}
