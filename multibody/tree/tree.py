"""The elements of a multibody model, what Finalize() makes of them, and that once more for another plant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from merganser.framework.core.scalars.copying import PartOfSystem
from merganser.framework.math import RigidTransform
from merganser.multibody.kernels.elements import set_element_kind
from merganser.multibody.kernels.mobilizers import set_kind
from merganser.multibody.kernels.transmissions import set_transmission_kind
from merganser.multibody.tree.actuator import Actuator, JointActuator
from merganser.multibody.tree.base_bodies import TreeBaseBodies
from merganser.multibody.tree.computations import TreeComputations
from merganser.multibody.tree.constraints import DEFAULT_STABILIZATION_TIME
from merganser.multibody.tree.coordinates import (
    Coordinates,
    make_default_constants,
    make_default_frames,
    make_default_parameters,
    make_elements,
    make_laws,
    make_topology,
    write_adjustable_defaults,
)
from merganser.multibody.tree.element import ElementCollection, MultibodyElement
from merganser.multibody.tree.force_elements import ForceElement, UniformGravityFieldElement
from merganser.multibody.tree.forest import (
    ForestEdge,
    JointLoopError,
    check_can_close_loop,
    make_loop_rows,
    spanning_forest,
)
from merganser.multibody.tree.frame import FixedOffsetFrame, Frame
from merganser.multibody.tree.indices import ModelInstanceIndex, default_model_instance, world_model_instance
from merganser.multibody.tree.inertia import SpatialInertia
from merganser.multibody.tree.joints import Joint, WeldJoint
from merganser.multibody.tree.rigid_body import RigidBody
from merganser.multibody.tree.transmission import Transmission, make_transmissions

FrameT = TypeVar("FrameT", bound=Frame)
JointT = TypeVar("JointT", bound=Joint)
ForceElementT = TypeVar("ForceElementT", bound=ForceElement)
TransmissionT = TypeVar("TransmissionT", bound=Transmission)
ActuatorT = TypeVar("ActuatorT", bound=Actuator)


def _gathered(coordinates: str, of_joint: Callable[[Any], Any], what: str) -> Callable[[Any], npt.NDArray[np.float64]]:
    """A function of the tree that gathers what joints say of their positions or of their velocities."""

    def gather(self: MultibodyTree) -> npt.NDArray[np.float64]:
        self._check_finalized(name)
        return self.coordinates.gather(coordinates, self.joints, of_joint)

    name = of_joint.__name__.removesuffix("_vector")
    gather.__name__, gather.__qualname__ = name, f"MultibodyTree.{name}"
    gather.__doc__ = f"Returns {what}, shape [num_{coordinates}]; RuntimeError before Finalize()."
    return gather


class MultibodyTree(TreeBaseBodies, TreeComputations, PartOfSystem):
    """Bodies, frames, joints, actuators and gravity; after Finalize() also topology and coordinates.

    A new tree holds the world body with its frame, the model instances of the world and the default one, and
    gravity. Elements are added, then Finalize() connects every loose part to the world and freezes the tree.

    Args:
        plant: the MultibodyPlant that this tree is the inside of, which its elements call for what depends on
            a Context; None for a tree without a plant.

    Attributes:
        plant: as given.
        bodies, frames, joints, actuators: collections of the elements (see TreeLookup).
        topology: after Finalize(), records of the mobilized bodies (mobods), see kernels/layout.py.
        mobod_of_body: after Finalize(), number of the mobod of each body, shape [num_bodies].
        mobod_of_joint: after Finalize(), number of the mobod that each joint moves, shape [num_joints].
        coordinates: after Finalize(), index arrays of positions, velocities and inputs.
        elements: after Finalize(), records of the force elements but gravity, see kernels/layout.py.
        transmission_records, transmission_nodes: after Finalize(), records of kernels/transmissions/records.py.
        law_records: after Finalize(), records of kernels/laws.
        loop_rows: after Finalize(), constraints of the loop joints, see kernels/constraints/.
    """

    topology: npt.NDArray[Any]
    mobod_of_body: npt.NDArray[np.int64]
    mobod_of_joint: npt.NDArray[np.int64]
    coordinates: Coordinates
    elements: npt.NDArray[Any]
    transmission_records: npt.NDArray[Any]
    transmission_nodes: npt.NDArray[Any]
    law_records: npt.NDArray[Any]
    loop_rows: npt.NDArray[Any]

    def __init__(self, plant: Any = None) -> None:
        super().__init__()
        self.plant = plant
        self._stabilization_times: list[float | None] = []  # of the loop joints [s]
        self._edges: list[ForestEdge] = []
        self._mobilizer_joints: list[Joint] = []
        self.has_explicit_products = False  # see kernels/velocity_products.py
        self._gravity_field = UniformGravityFieldElement()
        self._gravity_field._add_to(self, 0, is_ephemeral=False)
        self.force_elements.append(self._gravity_field)
        self._offset_frames: list[FixedOffsetFrame] = []
        self._fixed_parameters: dict[Any, npt.NDArray[Any]] = {}  # by scalar: of new Contexts, as far as they are fixed
        self._fixed_frames: dict[Any, npt.NDArray[Any]] = {}
        self._register_body(RigidBody("world", world_model_instance()))

    def _owner(self) -> Any:
        return self.plant

    def _counterpart_in(self, system: Any) -> MultibodyTree:
        tree: MultibodyTree = system._tree
        return tree

    # -- building --------------------------------------------------------------------------------------------

    def AddModelInstance(self, name: str) -> ModelInstanceIndex:
        """Adds a model instance, a namespace for elements.

        Raises:
            RuntimeError: if the name is taken, or after Finalize().
        """
        self._check_not_finalized("AddModelInstance")
        return self._add_model_instance(name)

    def AddRigidBody(
        self,
        name: str,
        model_instance: int | SpatialInertia | None = None,
        M_BBo_B: SpatialInertia | None = None,
    ) -> RigidBody:
        """Adds a body, with its body frame.

        Args:
            name: unique among the bodies of the model instance.
            model_instance: where the body belongs; may be left out, also with M_BBo_B in its place, while
                there are only the default ones.
            M_BBo_B: spatial inertia about Bo; by default zero.

        Raises:
            RuntimeError: if the name is taken, no instance is given although there are several, or after
                Finalize().
            TypeError: if the inertia is not a SpatialInertia.
        """
        self._check_not_finalized("AddRigidBody")
        if isinstance(model_instance, SpatialInertia):
            model_instance, M_BBo_B = None, model_instance
        if model_instance is None and self.num_model_instances() > 2:
            raise RuntimeError(
                "AddRigidBody(): this model has more model instances than the default one, so say to which one "
                f"the body '{name}' belongs: AddRigidBody(name, model_instance, M_BBo_B)."
            )
        body = RigidBody(name, default_model_instance() if model_instance is None else model_instance, M_BBo_B)
        self.bodies.check_name(name, body.model_instance())
        self.frames.check_name(name, body.model_instance())
        self._register_body(body)
        return body

    def _register_body(self, body: RigidBody) -> None:
        body._add_to(self, len(self.bodies), is_ephemeral=False)
        self.bodies.append(body)
        body.body_frame()._add_to(self, len(self.frames), is_ephemeral=False)
        self.frames.append(body.body_frame())

    def AddFrame(self, frame: FrameT) -> FrameT:
        """Adds a frame fixed to a body of this tree, and returns it.

        Raises:
            RuntimeError: if the name is taken, the frame is part of a tree already, its body or parent frame is not
                of this tree, or after Finalize().
            TypeError: if `frame` is not a Frame.
        """
        self._check_new("AddFrame", frame, Frame)
        parent = frame._frame_P if isinstance(frame, FixedOffsetFrame) else frame.body()
        self._check_mine("AddFrame", f"frame '{frame.name()}'", parent)
        self.frames.check_name(frame.name(), frame.model_instance())
        frame._add_to(self, len(self.frames), is_ephemeral=False)
        self.frames.append(frame)
        return frame

    def AddJoint(self, joint: JointT) -> JointT:
        """Adds a joint between two bodies of this tree, and returns it.

        Raises:
            RuntimeError: if the name is taken, the joint is part of a tree already, one of its frames is not
                of this tree, it connects a body to itself or two bodies that a joint connects already, or
                after Finalize().
            TypeError: if `joint` is not a Joint.
        """
        self._check_joint("AddJoint", joint)
        self._check_connection(joint)
        self._register_joint(joint, is_ephemeral=False)
        self._take_default_pose(joint)
        return joint

    def _register_joint(self, joint: Joint, is_ephemeral: bool) -> None:
        joint._add_to(self, self.joints.next_index(), is_ephemeral)
        self.joints.append(joint)
        self._joint_between[frozenset((joint.parent_body(), joint.child_body()))] = joint

    def AddLoopJoint(self, joint: Joint, stabilization_time: float | None = DEFAULT_STABILIZATION_TIME) -> Joint:
        """Adds a joint that closes a loop, and returns it: it has no coordinates, but constrains those of others.

        Its index counts loop joints alone. Its two bodies may be connected by other joints, or not. Where its frames
        are is what the model says by default.

        Args:
            joint: a weld, revolute, prismatic, universal, planar, ball_rpy or ball_quaternion joint without damping;
                its limits have no effect.
            stabilization_time: time T in which errors of the constraints g decay, by Baumgarte stabilization
                gddot = -2/T gdot - 1/T^2 g [s]; None for gddot = 0.

        Raises:
            RuntimeError: as AddJoint(), or the joint cannot close a loop.
            ValueError: if the time is not positive.
            TypeError: if `joint` is not a Joint.
        """
        self._check_joint("AddLoopJoint", joint)
        check_can_close_loop("AddLoopJoint", joint, stabilization_time)
        joint._add_to(self, len(self.loop_joints), is_ephemeral=False)
        joint._closes_loop = True
        self.loop_joints.append(joint)
        self._stabilization_times.append(stabilization_time)
        return joint

    def WeldFrames(
        self, frame_on_parent_F: Frame, frame_on_child_M: Frame, X_FM: RigidTransform | None = None
    ) -> WeldJoint:
        """Adds a WeldJoint named F_welds_to_M, and returns it; errors as WeldJoint and AddJoint."""
        self._check_not_finalized("WeldFrames")
        name = f"{frame_on_parent_F.name()}_welds_to_{frame_on_child_M.name()}"
        weld = WeldJoint(name, frame_on_parent_F, frame_on_child_M, RigidTransform() if X_FM is None else X_FM)
        self.AddJoint(weld)
        return weld

    def AddJointActuator(self, name: str, joint: Joint, effort_limit: float = np.inf) -> JointActuator:
        """Adds an actuator of a joint with one velocity.

        Args:
            name: unique among the actuators of the joint's model instance.
            joint: a joint of this tree.
            effort_limit: largest magnitude of the effort, positive [N or N m].

        Raises:
            RuntimeError: if the name is taken, the joint is not of this tree or has not one velocity, the
                limit is not positive, or after Finalize().
        """
        self._check_not_finalized("AddJointActuator")
        self._check_mine("AddJointActuator", f"actuator '{name}'", joint)
        if joint._closes_loop:
            raise RuntimeError(
                f"AddJointActuator(): joint '{joint.name()}' closes a loop, so it has no coordinates that an actuator "
                "could act on. Add it by AddJoint(), and close the loop at another of its joints."
            )
        if joint.num_velocities() != 1:
            raise RuntimeError(
                f"AddJointActuator(): joint '{joint.name()}' ({joint.type_name()}) has {joint.num_velocities()} "
                "velocities, but only a joint with exactly one can have an actuator."
            )
        return self._add_actuator(JointActuator(name, joint, effort_limit))

    def AddActuator(self, name: str, transmission: Transmission, effort_limit: float = np.inf) -> Actuator:
        """Adds an actuator along a transmission of this tree, and returns it. An addition to pydrake's functions.

        Args:
            name: unique among the actuators of the transmission's model instance.
            transmission: that AddTransmission() has returned.
            effort_limit: largest magnitude of the effort, positive [N].

        Raises:
            RuntimeError: the transmission is not of this tree, the name is taken or empty, or after Finalize().
            TypeError: it is no Transmission.
        """
        self._check_not_finalized("AddActuator")
        if not isinstance(transmission, Transmission):
            raise TypeError(
                f"AddActuator() takes a Transmission, not a {type(transmission).__name__}. For a joint call "
                "AddJointActuator()."
            )
        self._check_mine("AddActuator", f"actuator '{name}'", transmission)
        return self._add_actuator(Actuator(name, transmission, effort_limit))

    def _add_actuator(self, actuator: ActuatorT) -> ActuatorT:
        self.actuators.check_name(actuator.name(), actuator.model_instance())
        actuator._add_to(self, self.actuators.next_index(), is_ephemeral=False)
        self.actuators.append(actuator)
        return actuator

    def has_armature(self) -> bool:
        """Whether a tendon has armature; after Finalize()."""
        return bool((self.transmission_records["armature"] > 0.0).any())

    def refuse_armature(self, caller: str) -> None:
        """Raises a RuntimeError if a tendon has armature: the caller's algorithms know inertia of bodies and joints."""
        for transmission in self.transmissions:
            if transmission.armature() > 0.0:
                raise RuntimeError(
                    f"{caller}(): tendon '{transmission.name()}' has the armature {transmission.armature():g}, which "
                    "this function leaves out. Use the functions of the plant, such as CalcMassMatrix()."
                )

    def AddTransmission(self, transmission: TransmissionT) -> TransmissionT:
        """Adds a tendon, or another transmission, and returns it. An addition to pydrake's functions.

        Raises:
            RuntimeError: it is part of a tree already, is along something that is not of this tree, its name is taken,
                or after Finalize().
            TypeError: it is no Transmission.
        """
        self._check_new("AddTransmission", transmission, Transmission)
        for part in transmission._parts:
            self._check_mine("AddTransmission", repr(transmission), part)
        self.transmissions.check_name(transmission.name(), transmission.model_instance())
        transmission._add_to(self, self.transmissions.next_index(), is_ephemeral=False)
        transmission._parts = ()
        self.transmissions.append(transmission)
        return transmission

    def AddForceElement(self, force_element: ForceElementT) -> ForceElementT:
        """Adds a force element between bodies or on joints of this tree, and returns it.

        Raises:
            RuntimeError: if it is a second gravity field, part of a tree already, acts on something that is not of this
                tree, or after Finalize().
            TypeError: if it is not a ForceElement.
        """
        self._check_new("AddForceElement", force_element, ForceElement)
        if isinstance(force_element, UniformGravityFieldElement):
            raise RuntimeError(
                "AddForceElement(): this model already contains a gravity field element, and only one is allowed. "
                "Change it by mutable_gravity_field().set_gravity_vector()."
            )
        for part in force_element._parts():
            self._check_mine("AddForceElement", repr(force_element), part)
        force_element._add_to(self, len(self.force_elements), is_ephemeral=False)
        self.force_elements.append(force_element)
        return force_element

    # -- gravity ---------------------------------------------------------------------------------------------

    def gravity_field(self) -> UniformGravityFieldElement:
        """Returns the field of gravity."""
        return self._gravity_field

    def gravity_vector(self) -> npt.NDArray[np.float64]:
        """Returns g_W, the acceleration of gravity in the world frame [m/s^2], shape [3]."""
        return self._gravity_field.gravity_vector()

    def is_gravity_enabled(self, model_instance: int) -> bool:
        """Returns whether gravity acts on the bodies of a model instance; by default it does.

        Raises:
            RuntimeError: if there is no such model instance.
        """
        return self._gravity_field.is_enabled(model_instance)

    def set_gravity_enabled(self, model_instance: int, is_enabled: bool) -> None:
        """Sets whether gravity acts on the bodies of a model instance.

        Raises:
            RuntimeError: if there is no such model instance, or after Finalize().
        """
        self._gravity_field.set_enabled(model_instance, is_enabled)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes what was pickled or copied; numbers and code of kinds are those of this process."""
        vars(self).update(state)
        if self._is_finalized:
            for node, joint in zip(self.topology[1:], self._mobilizer_joints):
                set_kind(node, joint.kind)
            for record, element in zip(self.elements, self.force_elements[1:]):
                set_element_kind(record, element.kind)
            for record, transmission in zip(self.transmission_records, self.transmissions):
                set_transmission_kind(record, transmission.kind())

    # -- finalizing ------------------------------------------------------------------------------------------

    def Finalize(self) -> None:
        """Connects loose parts to the world by floating joints, orders the coordinates and freezes the tree.

        SetBaseBodyJointType() chooses their type. They come after the joints of the user, named as the body that they
        carry (with underscores in front if the name is taken). See forest.py for the order.

        Raises:
            RuntimeError: if the tree is finalized already, its joints form a loop, or a joint that cannot be
                reversed has its child nearer the world.
        """
        self._check_not_finalized("Finalize")
        mobilizers = self._span()
        self._check_reversed_joints(mobilizers)
        self._edges = mobilizers
        self._mobilizer_joints = [
            self.joints.get(m.joint) if m.joint is not None else self._add_base_joint(m.outboard) for m in mobilizers
        ]
        self.mobod_of_body = np.zeros(len(self.bodies), dtype=np.int64)
        self.mobod_of_joint = np.zeros(self.joints.next_index(), dtype=np.int64)
        for mobod, (mobilizer, joint) in enumerate(zip(mobilizers, self._mobilizer_joints), start=1):
            self.mobod_of_body[mobilizer.outboard] = mobod
            self.mobod_of_joint[joint.index()] = mobod
        self.topology = make_topology(mobilizers, self._mobilizer_joints, self.mobod_of_body)
        self.topology["has_explicit_products"][0] = self.has_explicit_products
        for body in self.bodies:
            is_weightless = not self.is_gravity_enabled(body.model_instance())
            self.topology["is_weightless"][self.mobod_of_body[body.index()]] = is_weightless
        self._set_indices_of_elements()
        self.elements = make_elements(self.force_elements[1:], self)
        self.transmission_records, self.transmission_nodes = make_transmissions(list(self.transmissions), self)
        self.coordinates = Coordinates.of(self.num_model_instances(), list(self.joints), list(self.actuators))
        sizes = self.coordinates.num_positions, self.coordinates.num_velocities
        time_step = 0.0 if self.plant is None else self.plant.time_step()
        self.law_records = make_laws(list(self.actuators), *sizes, time_step, len(self.belts()))
        self.loop_rows = make_loop_rows(list(self.loop_joints), self._stabilization_times, self.mobod_of_body)
        self._is_finalized = True

    def _span(self) -> list[ForestEdge]:
        ends = {j.index(): (int(j.parent_body().index()), int(j.child_body().index())) for j in self.joints}
        try:
            return spanning_forest(len(self.bodies), ends)
        except JointLoopError as error:
            loop = ", ".join(
                f"'{j.name()}' ({j.parent_body().name()} - {j.child_body().name()})"
                for j in map(self.joints.get, error.joints)
            )
            raise RuntimeError(
                f"Finalize(): these joints form a loop: {loop}. The bodies and joints of a model must form trees: "
                "remove one of these joints, and replace it by a constraint or a stiff force between its "
                "bodies. In a continuous plant, add one of them by AddLoopJoint() instead of AddJoint()."
            ) from None

    def _check_reversed_joints(self, mobilizers: list[ForestEdge]) -> None:
        for mobilizer in mobilizers:
            if not mobilizer.is_reversed or mobilizer.joint is None:
                continue
            joint = self.joints.get(mobilizer.joint)
            if joint in self._added_mobilizers:
                raise RuntimeError(
                    f"Finalize(): the inboard body '{joint.parent_body().name()}' of a mobilizer is farther from the "
                    f"world than its outboard body '{joint.child_body().name()}'. Exchange the frames of the mobilizer."
                )
            if not joint.kind.is_reversible:
                raise RuntimeError(
                    f"Finalize(): the child of joint '{joint.name()}', body '{joint.child_body().name()}', is nearer "
                    f"the world than its parent, body '{joint.parent_body().name()}', which a joint of type "
                    f"{joint.type_name()} does not allow. Define the joint with parent and child exchanged."
                )

    def _set_indices_of_elements(self) -> None:
        """Gives joints, actuators and frames their first index, and bodies their mobod and inboard joint."""
        for mobod, (mobilizer, joint) in enumerate(zip(self._edges, self._mobilizer_joints), start=1):
            body = self.bodies.get(mobilizer.outboard)
            body._mobod, body._inboard_joint = mobod, joint
            joint._position_start = int(self.topology["q_start"][mobod])
            joint._velocity_start = int(self.topology["v_start"][mobod])
        self.world_body()._mobod = 0
        for start, actuator in enumerate(self.actuators):
            actuator._input_start = start
        self._offset_frames = [frame for frame in self.frames if isinstance(frame, FixedOffsetFrame)]
        for slot, frame in enumerate(self._offset_frames):
            frame._slot = slot

    def num_activations(self) -> int:
        """Returns the number of states of actuators, activations and others, and of displacements of belts."""
        records = self.law_records
        laws = [law for law in (actuator.law() for actuator in self.actuators) if law is not None]
        waiting = records["num_delayed"] @ np.count_nonzero(records["actuators"] >= 0, axis=1)
        return int(waiting) + sum(law.num_states() for law in laws) + len(self.belts())

    def belts(self) -> list[RigidBody]:
        """Returns the bodies whose surfaces go round an axis."""
        return [body for body in self.bodies if body._surface_axis is not None]

    # -- results of finalizing -------------------------------------------------------------------------------

    def make_default_parameters(self, scalar: Any = np.float64) -> npt.NDArray[Any]:
        """Returns the parameter records (see kernels/layout.py) from the defaults of the elements.

        Args:
            scalar: type of all fields: float64, complex128 or object.

        Raises:
            RuntimeError: before Finalize().
        """
        self._check_finalized("make_default_parameters")
        fixed = self._fixed_parameters.get(scalar)
        if fixed is None:
            fixed = self._fixed_parameters[scalar] = make_default_parameters(
                list(self.bodies), self._edges, self._mobilizer_joints, scalar
            )
        records = fixed.copy()
        write_adjustable_defaults(records, self._mobilizer_joints, list(self.actuators))
        return records

    def make_default_constants(self, scalar: Any = np.float64) -> npt.NDArray[Any]:
        """Returns the constants of the force elements but gravity, see kernels/layout.py; errors as above."""
        self._check_finalized("make_default_constants")
        return make_default_constants(self.force_elements[1:], scalar)

    def make_default_frames(self, scalar: Any = np.float64) -> npt.NDArray[Any]:
        """Returns the poses of the offset frames, see kernels/layout.py; errors as above."""
        self._check_finalized("make_default_frames")
        fixed = self._fixed_frames.get(scalar)
        if fixed is None:
            fixed = self._fixed_frames[scalar] = make_default_frames(self._offset_frames, scalar)
        return fixed.copy()

    default_positions = _gathered("positions", Joint.default_positions, "the q that new Contexts start with")
    position_lower_limits = _gathered("positions", Joint.position_lower_limits, "the lower limits of q")
    position_upper_limits = _gathered("positions", Joint.position_upper_limits, "the upper limits of q")
    velocity_lower_limits = _gathered("velocities", Joint.velocity_lower_limits, "the lower limits of v")
    velocity_upper_limits = _gathered("velocities", Joint.velocity_upper_limits, "the upper limits of v")
    acceleration_lower_limits = _gathered("velocities", Joint.acceleration_lower_limits, "the lower limits of dv/dt")
    acceleration_upper_limits = _gathered("velocities", Joint.acceleration_upper_limits, "the upper limits of dv/dt")
    default_damping = _gathered("velocities", Joint.default_damping_vector, "the default damping of each velocity")

    def effort_limits(self) -> npt.NDArray[np.float64]:
        """Returns the largest magnitude of each input, in the order of u, shape [num_actuated_dofs]."""
        return np.array([actuator.effort_limit() for actuator in self.actuators], dtype=np.float64)

    def default_rotors(self) -> npt.NDArray[np.float64]:
        """Returns gear ratios, then rotor inertias [kg m^2], of the actuators, shape [2 * num_actuators]."""
        ratios = [actuator.default_gear_ratio() for actuator in self.actuators]
        return np.array(ratios + [a.default_rotor_inertia() for a in self.actuators], dtype=np.float64)

    # -- checks ----------------------------------------------------------------------------------------------

    def _check_new(self, caller: str, element: MultibodyElement, kind: type) -> None:
        if not isinstance(element, kind):
            raise TypeError(f"{caller}() takes a {kind.__name__}, not a {type(element).__name__}.")
        self._check_not_finalized(caller, element)
        if element._tree is not None:
            owner = "this" if element._tree is self else "another"
            raise RuntimeError(f"{caller}(): {element!r} was added to {owner} plant already.")

    def _check_joint(self, caller: str, joint: Joint) -> None:
        self._check_new(caller, joint, Joint)
        for frame in (joint.frame_on_parent(), joint.frame_on_child()):
            self._check_mine(caller, f"joint '{joint.name()}'", frame)
        for collection in (self.joints, self.loop_joints):
            collection.check_name(joint.name(), joint.model_instance())
        parent = joint.parent_body()
        if parent is joint.child_body():
            raise RuntimeError(f"{caller}(): joint '{joint.name()}' would connect body '{parent.name()}' to itself.")

    def _check_connection(self, joint: Joint) -> None:
        parent, child = joint.parent_body(), joint.child_body()
        other = self._joint_between.get(frozenset((parent, child)))
        if other is not None:
            raise RuntimeError(
                f"AddJoint(): joint '{joint.name()}' would connect the bodies '{parent.name()}' and "
                f"'{child.name()}', which joint '{other.name()}' connects already."
            )


def copy_finalized_tree(tree: MultibodyTree, plant: Any) -> MultibodyTree:
    """Returns a tree that is equal to a finalized one and belongs to another plant.

    The elements are others, since each knows its plant and has defaults that may be set. Everything that they and the
    tree refer to beside elements is shared: Finalize() has made it for good, or it is replaced, never changed in place,
    when a default is set.
    """
    originals: list[Any] = [
        *tree.bodies, *tree.frames, *tree.joints, *tree.loop_joints, *tree.actuators, *tree.force_elements,
        *tree.transmissions,
        *tree._mobilizer_objects, *tree._added_mobilizers.values(),
    ]  # fmt: skip
    copied: Any = object.__new__(type(tree))
    copies = {id(original): object.__new__(type(original)) for original in originals}
    copies |= {id(tree): copied, id(tree.plant): plant}
    for original in originals:
        content = vars(copies[id(original)])
        for name, value in vars(original).items():
            content[name] = copies.get(id(value), value)
    for name, value in vars(tree).items():
        setattr(copied, name, _with_copies(value, copies, copied))
    copied._joint_between = {}  # of use before Finalize() only
    # These are filled when first read, and not changed afterwards.
    copied._fixed_parameters, copied._fixed_frames = tree._fixed_parameters, tree._fixed_frames
    result: MultibodyTree = copied
    return result


def _with_copies(value: Any, copies: dict[int, Any], tree: MultibodyTree) -> Any:
    """An attribute of a tree with its elements replaced by copies; lists and dictionaries are new."""
    if type(value) is list:
        return [copies.get(id(item), item) for item in value]
    if type(value) is dict:
        return {copies.get(id(key), key): copies.get(id(item), item) for key, item in value.items()}
    if isinstance(value, ElementCollection):
        return value.with_copies(copies, tree.GetModelInstanceName, tree._plant_name)
    return copies.get(id(value), value)
