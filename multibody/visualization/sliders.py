"""Sliders in the page of a Meshcat: JointSliders for positions of a plant, ActuatorSliders for efforts of actuators."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import BasicVector, Context, Diagram, DiagramBuilder, LeafSystem
from merganser.framework.core.scalars.scalars import cast_array
from merganser.framework.core.values.arguments import checked_number, require_types
from merganser.framework.math import Quaternion, RollPitchYaw
from merganser.geometry.visualizers import Meshcat
from merganser.geometry.visualizers.meshcat import repeat_until_stopped
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Actuator, ModelInstanceIndex

Array = NDArray[np.float64]

_LIMIT = 10.0  # of sliders whose joints have none, or wider ones [rad, m]
_STEP = 0.01  # [rad, m]
_FREE = 6  # positions, from which on a joint holds its body in no direction
_HALF_TURNS = np.array([math.pi, math.pi / 2, math.pi])  # of roll, pitch and yaw: all orientations [rad]
_BUTTON = "Stop JointSliders"


class JointSliders(LeafSystem):
    """A slider for each position of a plant, in the page of a Meshcat.

    Sliders have the names of joints, with the kind of position after an underscore where a joint has several, such as
    'base_qw'; where two would have one name, all have those of their model instances after a slash, too. In the page,
    the sliders of a joint with rotations and translations, such as a floating base, are a group that is folded away.

    The output is what the sliders say whenever it is asked for, also within one time; where that matters, put a
    ZeroOrderHold behind it.

    Ports:
        output `positions`: in the order of `plant.GetPositions`, shape [num_positions].

    Args:
        meshcat: where the sliders are.
        plant: whose joints they are for; finalized.
        initial_value: to begin with, shape [num_positions]; by default the default positions of the plant.
        lower_limit: of each slider, shape [num_positions], or of all; joint limits that are narrower count. -10 by
            default.
        upper_limit: the same; 10 by default.
        step: of each slider, shape [num_positions], or of all; 0.01 by default.
        decrement_keycodes: keys that take each slider one step down, see `Meshcat.AddButton`; empty for none.
        increment_keycodes: keys that take each one step up.
        turns_by_rpy: whether a quaternion has sliders for roll, pitch and yaw, in its first three places, such as
            'base_roll', instead of four for its elements; limits and keys of its last element are then ignored, and
            those of others are those of the angles [rad].

    Raises:
        TypeError: an argument has another type.
        RuntimeError: the plant is not finalized; something has not as many elements as there are positions, or is not
            finite; a lower limit is above the upper one; the Meshcat has controls of these names already.
    """

    def __init__(
        self,
        meshcat: Meshcat,
        plant: MultibodyPlant,
        initial_value: ArrayLike | None = None,
        lower_limit: ArrayLike | None = None,
        upper_limit: ArrayLike | None = None,
        step: ArrayLike | None = None,
        decrement_keycodes: Sequence[str] = (),
        increment_keycodes: Sequence[str] = (),
        *,
        turns_by_rpy: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(meshcat, Meshcat) or not isinstance(plant, MultibodyPlant):
            raise TypeError(f"JointSliders takes a Meshcat and a MultibodyPlant; given {meshcat!r} and {plant!r}.")
        size = plant.num_positions()
        rows = _rows(plant)
        self._turns = _Turns([row.start for row in rows if row.suffix == "qw"] if turns_by_rpy else [], size)
        low, high = self._turns.limits(*_limits(plant, lower_limit, upper_limit))
        steps = _each("step", _STEP if step is None else step, size)
        given = plant.GetDefaultPositions() if initial_value is None else initial_value
        self._meshcat, self._plant = meshcat, plant
        self._values = _checked("initial_value", given, size)  # where there is no slider
        self._names: list[str] = []
        keys = [
            _keycodes(name, codes, size) for name, codes in
            (("decrement_keycodes", decrement_keycodes), ("increment_keycodes", increment_keycodes))
        ]  # fmt: skip
        output = self.DeclareVectorOutputPort("positions", size, self._calc_positions, {self.time_ticket()})
        output.disable_caching_by_default()
        try:
            values = self._turns.to_sliders(self._values)
            for name, i, row in zip(self._turns.names(rows), self._turns.kept, [rows[i] for i in self._turns.kept]):
                value = values[len(self._names)]
                meshcat.AddSlider(name, low[i], high[i], steps[i], value, keys[0][i], keys[1][i])
                meshcat.put_in_group(name, row.group, is_folded=row.is_free)
                self._names.append(name)
        except BaseException:
            self.Delete()
            raise

    def Delete(self) -> None:
        """Removes the sliders; from now on the output is the initial value, or what `SetPositions` has set last."""
        for name in self._names:
            self._meshcat.DeleteSlider(name, strict=False)
        self._names = []

    def SetPositions(self, q: ArrayLike) -> None:
        """Moves the sliders to positions, which also stay when they are deleted.

        Args:
            q: shape [num_positions].

        Raises:
            RuntimeError: there are more or fewer, or one is not finite.
        """
        self._values = _checked("q", q, len(self._values))
        for name, value in zip(self._names, self._turns.to_sliders(self._values).tolist()):
            self._meshcat.SetSliderValue(name, value)

    def Run(self, diagram: Diagram, timeout: float | None = None, stop_button_keycode: str = "Escape") -> Array:
        """Moves the plant and publishes a diagram whenever a slider is moved, until a button is clicked.

        The button is 'Stop JointSliders'. The plant moves in a Context of its own, whether or not this system is
        connected to anything. Quaternions that are zero are passed over.

        Args:
            diagram: the outermost one around the plant and this system.
            timeout: after which it ends without a click [s].
            stop_button_keycode: a key that clicks the button, too; empty for none.

        Returns:
            The positions of the plant in the end, shape [num_positions].

        Raises:
            TypeError: the first argument is not a diagram.
            ValueError: the plant or this system is not in the diagram, or that is in another one.
        """
        if not isinstance(diagram, Diagram):
            raise TypeError(f"JointSliders.Run() takes the diagram around the plant; given {diagram!r}.")
        context = diagram.CreateDefaultContext()
        self.GetMyContextFromRoot(context)
        inside = self._plant.GetMyMutableContextFromRoot(context)
        shown: Array | None = None

        def publish_if_moved() -> None:
            nonlocal shown
            q = self.positions()
            if shown is None or not np.array_equal(q, shown):
                shown = q
                if move_plant(self._plant, inside, q):
                    diagram.ForcedPublish(context)

        repeat_until_stopped(publish_if_moved, self._meshcat, _BUTTON, stop_button_keycode, timeout)
        return cast_array(self._plant.GetPositions(inside), float)

    def positions(self) -> Array:
        """Positions from the sliders, shape [num_positions]."""
        if not self._names:
            return self._values.copy()
        return self._turns.to_positions(np.array([self._meshcat.GetSliderValue(name) for name in self._names]))

    def _calc_positions(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector(self.positions())


def move_plant(plant: MultibodyPlant, context: Context, q: Array) -> bool:
    """Sets positions, shape [num_positions]; returns whether it could: quaternions on their way may be zero."""
    try:
        plant.SetPositions(context, q)
    except ValueError:
        return False
    return True


class _PositionRow(NamedTuple):
    """A position of a plant.

    Attributes:
        joint: name of the joint.
        suffix: the kind of position; empty where the joint has one only.
        start: number of the position.
        owner: name of the model instance.
        group: of sliders, to which it belongs.
        is_free: whether the joint moves a body that is not held.
    """

    joint: str
    suffix: str
    start: int
    owner: str
    group: str
    is_free: bool

    def name(self, suffix: str, with_owner: bool) -> str:
        """The name of the slider."""
        return f"{self.joint}{'_' if suffix else ''}{suffix}{f'/{self.owner}' if with_owner else ''}"


def _rows(plant: MultibodyPlant) -> list[_PositionRow]:
    """All positions."""
    joints = [plant.get_joint(index) for index in plant.GetJointIndices()]
    joints = [joint for joint in joints if joint.num_positions()]
    names = {joint.index(): plant.GetModelInstanceName(joint.model_instance()) for joint in joints}
    are_several = len(set(names.values())) > 1
    rows = []
    for joint in joints:
        owner, count = names[joint.index()], joint.num_positions()
        is_free = count >= _FREE
        group = f"Pose of {joint.child_body().name()}" if is_free else "Joints"
        for i in range(count):
            suffix = joint.position_suffix(i) if count > 1 else ""
            where = f"{group}, {owner}" if are_several else group
            rows.append(_PositionRow(joint.name(), suffix, joint.position_start() + i, owner, where, is_free))
    return sorted(rows, key=lambda row: row.start)


class _Turns:
    """Quaternions with sliders for roll, pitch and yaw in place of their first three elements.

    Args:
        starts: where quaternions begin in positions.
        size: how many positions there are.

    Attributes:
        kept: the positions that have a slider.
    """

    def __init__(self, starts: list[int], size: int) -> None:
        self._starts = starts
        self.kept = [i for i in range(size) if i - 3 not in starts]

    def names(self, rows: list[_PositionRow]) -> list[str]:
        """A name for each slider; none twice."""
        suffixes = {start + i: suffix for start in self._starts for i, suffix in enumerate(("roll", "pitch", "yaw"))}
        kept = [rows[i] for i in self.kept]
        plain = [row.name(suffixes.get(row.start, row.suffix), False) for row in kept]
        if len(set(plain)) == len(plain):
            return plain
        return [row.name(suffixes.get(row.start, row.suffix), True) for row in kept]

    def limits(self, low: Array, high: Array) -> tuple[Array, Array]:
        """The same limits, but angles go around once, shape [num_positions]."""
        low, high = low.copy(), high.copy()
        for start in self._starts:
            low[start : start + 3] = np.maximum(low[start : start + 3], -_HALF_TURNS)
            high[start : start + 3] = np.minimum(high[start : start + 3], _HALF_TURNS)
        return low, high

    def to_sliders(self, q: Array) -> Array:
        """Values of sliders at positions, shape [num_sliders]."""
        values = q.copy()
        for start in self._starts:
            length = float(np.linalg.norm(q[start : start + 4]))
            wxyz = q[start : start + 4] / length if length > 0.0 else [1.0, 0.0, 0.0, 0.0]
            values[start : start + 3] = RollPitchYaw(Quaternion(wxyz)).vector()
        return values[self.kept]

    def to_positions(self, values: Array) -> Array:
        """The positions at which sliders show values, shape [num_positions]."""
        q = np.zeros(len(values) + len(self._starts))
        q[self.kept] = values
        for start in self._starts:
            q[start : start + 4] = RollPitchYaw(q[start : start + 3]).ToQuaternion().wxyz()
        return q


def _limits(plant: MultibodyPlant, lower: ArrayLike | None, upper: ArrayLike | None) -> tuple[Array, Array]:
    """Of all sliders: those that are given, as far as joints can go."""
    size = plant.num_positions()
    low = _each("lower_limit", -_LIMIT if lower is None else lower, size)
    high = _each("upper_limit", _LIMIT if upper is None else upper, size)
    if not (low <= high).all():
        i = int(np.flatnonzero(~(low <= high))[0])
        raise RuntimeError(
            f"JointSliders: the lower limit of position {i} ({plant.GetPositionNames()[i]}), {low[i]}, is above its "
            f"upper limit, {high[i]}."
        )
    high = np.clip(high, plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits())
    return np.minimum(np.maximum(low, plant.GetPositionLowerLimits()), high), high


def _each(name: str, given: ArrayLike, size: int) -> Array:
    """A number for each position, from one for all or one for each."""
    if np.ndim(given) > 0:
        return _checked(name, given, size)
    value = checked_number(given, f"JointSliders: {name}")
    if math.isnan(value):
        raise RuntimeError(f"JointSliders: {name} must be a number; given {given!r}.")
    return np.full(size, value)


def _checked(name: str, given: ArrayLike, size: int) -> Array:
    """Finite numbers for all positions.

    Raises:
        TypeError: they are no numbers.
        RuntimeError: there are more or fewer, or one is not finite.
    """
    try:
        values = cast_array(np.asarray(given).ravel(), float)
    except (TypeError, ValueError):
        raise TypeError(f"JointSliders: {name} must be numbers; given {given!r}.") from None
    if len(values) != size:
        raise RuntimeError(
            f"JointSliders: {name} must have {size} elements, as the plant has positions; given {given!r}."
        )
    if not np.isfinite(values).all():
        raise RuntimeError(f"JointSliders: {name} must be finite; given {given!r}.")
    return values


def _keycodes(name: str, given: Sequence[str], size: int) -> list[str]:
    """A keycode for each position; all empty if none are given."""
    if len(given) not in (0, size):
        raise RuntimeError(
            f"JointSliders: {name} must be as many as the plant has positions, {size}, or none; given {given!r}."
        )
    return list(given) or [""] * size


# ---------------------------------------------------------------------- actuators

_EFFORT = 10.0  # of sliders whose actuators have no limit [N m, N]
_TRAVEL = math.pi  # of sliders of positions whose joints have no limits, to both sides [rad, m]
_STEPS = 100  # of a slider from end to end, at least
_TORQUES, _FORCES, _POSITIONS = "Torques [N m]", "Forces [N]", "Wanted positions [rad, m]"


class _ActuatorRow(NamedTuple):
    """A slider: of which actuator, and what it sets."""

    name: str
    actuator: Actuator
    is_position: bool


class ActuatorSliders(LeafSystem):
    """A slider for each actuator of a plant, in the page of a Meshcat; beyond pydrake.

    One without controller gains has a slider for its effort, within its limits (or 10 N m, or N, to both sides), zero
    at first. One with gains has a slider for the position that it is to hold, within the limits of its joint, the
    default position at first; its effort is what its gains make of that.

    Ports:
        output `actuation`: efforts, in the order of the plant's input port `actuation`, shape [num_actuated_dofs].
        output `<model instance>_desired_state`: for each model instance that has actuators with gains.

    Args:
        meshcat: where the sliders are.
        plant: whose actuators they are for; finalized.

    Raises:
        TypeError: an argument has another type.
        RuntimeError: the plant is not finalized; the Meshcat has controls of these names already.
    """

    def __init__(self, meshcat: Meshcat, plant: MultibodyPlant) -> None:
        super().__init__()
        require_types("ActuatorSliders", meshcat=(meshcat, Meshcat), plant=(plant, MultibodyPlant))
        if not plant.is_finalized():
            raise RuntimeError(f"ActuatorSliders: call Finalize() of plant '{plant.get_name()}' first.")
        self._meshcat, self._plant = meshcat, plant
        self._rows: list[_ActuatorRow] = []
        size, time = plant.num_actuated_dofs(), {self.time_ticket()}
        self.DeclareVectorOutputPort(
            "actuation", BasicVector(size), self._calc_actuation, time
        ).disable_caching_by_default()
        for instance in self._driven_instances():
            wide = 2 * plant.num_actuated_dofs(instance)
            port = self.DeclareVectorOutputPort(
                f"{plant.GetModelInstanceName(instance)}_desired_state", BasicVector(wide),
                functools.partial(self._calc_desired_state, instance), time,
            )  # fmt: skip
            port.disable_caching_by_default()
        try:
            self._add_sliders()
        except BaseException:
            self.Delete()
            raise

    @staticmethod
    def AddToBuilder(builder: DiagramBuilder, plant: MultibodyPlant, meshcat: Meshcat) -> ActuatorSliders:
        """Adds ActuatorSliders to a diagram, and connects them with the plant.

        Args:
            builder: of the diagram.
            plant: in it, and finalized.
            meshcat: as of the class.

        Returns:
            The system; its name is 'actuator_sliders'.

        Raises:
            RuntimeError: an input port of the plant for actuation is connected already.
        """
        sliders = builder.AddNamedSystem("actuator_sliders", ActuatorSliders(meshcat, plant))
        builder.Connect(sliders.GetOutputPort("actuation"), plant.get_actuation_input_port())
        for instance in sliders._driven_instances():
            output = sliders.GetOutputPort(f"{plant.GetModelInstanceName(instance)}_desired_state")
            builder.Connect(output, plant.get_desired_state_input_port(instance))
        return sliders

    def Delete(self) -> None:
        """Removes the sliders; from now on efforts are zero, and positions the default ones."""
        for row in self._rows:
            self._meshcat.DeleteSlider(row.name, strict=False)
        self._rows = []

    def _actuators(self) -> list[Actuator]:
        return [self._plant.get_joint_actuator(index) for index in self._plant.GetJointActuatorIndices()]

    def _driven_instances(self) -> list[ModelInstanceIndex]:
        """Model instances that have actuators with gains."""
        return sorted({each.model_instance() for each in self._actuators() if each.has_controller()})

    def _add_sliders(self) -> None:
        names = [each.name() for each in self._actuators()]
        for actuator in self._actuators():
            if actuator.num_inputs() != 1:
                continue
            scoped = f"{actuator.name()}/{self._plant.GetModelInstanceName(actuator.model_instance())}"
            name = actuator.name() if names.count(actuator.name()) == 1 else scoped
            low, high, value = _travel(actuator) if actuator.has_controller() else _efforts(actuator)
            self._meshcat.AddSlider(name, low, high, _round_step(high - low), value)
            self._rows.append(_ActuatorRow(name, actuator, actuator.has_controller()))
            turns = actuator.transmission() is None and actuator.joint().can_rotate()
            group = _POSITIONS if actuator.has_controller() else _TORQUES if turns else _FORCES
            self._meshcat.put_in_group(name, group)

    def _value(self, row: _ActuatorRow) -> float:
        return self._meshcat.GetSliderValue(row.name)

    def _calc_actuation(self, context: Context, output: BasicVector) -> None:
        u = np.zeros(self._plant.num_actuated_dofs())
        for row in self._rows:
            if not row.is_position:
                u[row.actuator.input_start()] = self._value(row)
        output.SetFromVector(u)

    def _calc_desired_state(self, instance: ModelInstanceIndex, context: Context, output: BasicVector) -> None:
        wanted = {row.actuator.index(): self._value(row) for row in self._rows if row.is_position}
        actuators = [each for each in self._actuators() if each.model_instance() == instance]
        q: NDArray[np.float64] = np.array([wanted.get(each.index(), _travel(each)[2]) for each in actuators])
        output.SetFromVector(np.concatenate([q, np.zeros(len(q))]))


def _round_step(length: float) -> float:
    """The step of a slider, a power of ten, chosen so that its ends and default are usually multiples."""
    return 10.0 ** math.floor(math.log10(length / _STEPS)) if length > 0.0 else 1.0


def _efforts(actuator: Actuator) -> tuple[float, float, float]:
    """Ends of the slider of an effort or a control, and its value."""
    law = actuator.law()
    if law is not None:
        low, high = (0.0, 1.0) if law.muscle is not None else law.control_range
        return (low, high, min(max(low, 0.0), high)) if math.isfinite(high - low) else (-_EFFORT, _EFFORT, 0.0)
    low, high = actuator.effort_range()
    return (low, high, min(max(low, 0.0), high)) if high < math.inf else (-_EFFORT, _EFFORT, 0.0)


def _travel(actuator: Actuator) -> tuple[float, float, float]:
    """Ends of the slider of a position, and its value."""
    if actuator.transmission() is not None:
        low, high = actuator._desired_range
        return (low, high, low) if math.isfinite(high - low) else (-_TRAVEL, _TRAVEL, 0.0)
    joint = actuator.joint()
    low, high, value = (
        float(each[0])
        for each in (joint.position_lower_limits(), joint.position_upper_limits(), joint.default_positions())
    )
    return (low if math.isfinite(low) else value - _TRAVEL), (high if math.isfinite(high) else value + _TRAVEL), value
