"""The parts of which a plant is composed, and what each of them is given."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from merganser.framework import LeafOutputPort, LeafSystem
from merganser.framework.math import RigidTransform
from merganser.geometry import FrameId, GeometryId, SceneGraph, SourceId
from merganser.multibody.plant.arguments import check_forces, check_pitches, mobod_of
from merganser.multibody.plant.center_of_mass import CenterOfMass
from merganser.multibody.plant.computations import PlantComputations
from merganser.multibody.plant.constraints import Constraints
from merganser.multibody.plant.contact_settings import ContactChoices, ContactSettings
from merganser.multibody.plant.face.contact import ContactFace
from merganser.multibody.plant.face.dynamics import DynamicsFace
from merganser.multibody.plant.face.elements import ElementsFace
from merganser.multibody.plant.face.geometry import GeometryFace
from merganser.multibody.plant.face.kinematics import KinematicsFace
from merganser.multibody.plant.face.state import StateFace
from merganser.multibody.plant.failures import WarnOnce, describe_overflow
from merganser.multibody.plant.force_elements import ForceElements
from merganser.multibody.plant.frame_motion import FrameMotion
from merganser.multibody.plant.frame_poses import FramePoses
from merganser.multibody.plant.free_bodies import FreeBodies
from merganser.multibody.plant.geometry_registration import GeometryRegistration
from merganser.multibody.plant.jacobians import PlantJacobians
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.names import PlantNames
from merganser.multibody.plant.selectors import Selectors
from merganser.multibody.plant.state import PlantState
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.plant.velocity_maps import VelocityMaps
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import FixedOffsetFrame, MultibodyConstraintId, MultibodyForces, MultibodyTree, RigidBody
from merganser.multibody.tree.constraints import ConstraintSpec

__all__ = ["PlantParts"]

Array = NDArray[Any]


class PlantParts(ElementsFace, StateFace, KinematicsFace, DynamicsFace, GeometryFace, ContactFace, LeafSystem):
    """Makes the parts of a plant, each with those that it needs."""

    _model: PlantModel
    _views: StateViews
    _frame_poses: FramePoses
    _frame_motion: FrameMotion
    _time_step: float
    _outputs: Any  # OutputPorts, which needs what is a base of the plant

    def _make_parts(self, tree: MultibodyTree, time_step: float) -> None:
        self._tree, self._time_step = tree, time_step
        model = self._model = PlantModel(self, tree, time_step)
        self._names = PlantNames(model)
        self._selectors = Selectors(model)
        self._geometry = GeometryRegistration(model)
        self._settings = ContactSettings(model, self._geometry)
        self._warn_once = WarnOnce()
        self._constraints = Constraints(model, self._settings)
        views = self._views = StateViews(model)
        self._state = PlantState(model, views)
        self._free_bodies = FreeBodies(model, views)
        self._frame_poses = FramePoses(model, views)
        kinematics = self._kinematics = PlantKinematics(model, views)
        self._velocity_maps = VelocityMaps(model, views)
        self._jacobians = PlantJacobians(model, kinematics)
        self._computations = PlantComputations(model, views, kinematics)
        self._force_elements = ForceElements(model, kinematics, self._computations)
        self._center_of_mass = CenterOfMass(model, views, kinematics, self._jacobians, self._calc_vdot)
        self._frame_motion = FrameMotion(model, kinematics, self._eval_A_WB_W)

    def _calc_vdot(self, context: Any) -> tuple[Workspace, Array]:
        """The workspace, kinematics up to date, and vdot of shape [nv] as it follows from the forces."""
        raise NotImplementedError

    def _eval_A_WB_W(self, context: Any) -> Array:
        """Accelerations of the bodies as they follow from the forces, by mobod, shape [num_mobods, 6]."""
        raise NotImplementedError

    # ------------------------------------------------------------------ for the parts that are still bases

    def _workspace(self, context: Any) -> Workspace:
        return self._views.workspace(context)

    def _eval_position(self, context: Any) -> Workspace:
        return self._kinematics.eval_position(context)

    def _eval_velocity(self, context: Any) -> Workspace:
        return self._kinematics.eval_velocity(context)

    def _mutable_q_view(self, context: Any) -> Array:
        return self._views.mutable_q(context)

    def _mutable_v_view(self, context: Any) -> Array:
        return self._views.mutable_v(context)

    def _check_forces(self, caller: str, forces: MultibodyForces) -> None:
        check_forces(self._model, caller, forces)

    def _check_pitches(self, what: str, w: Workspace) -> None:
        check_pitches(self._model, what, w)

    def _mobod(self, caller: str, body: RigidBody) -> int:
        return mobod_of(self._model, caller, body)

    def _describe_overflow(self, context: Any, w: Workspace, values: Any) -> str:
        return describe_overflow(self._model, context, w, values)

    def _set_frame_pose(self, context: Any, frame: FixedOffsetFrame, X_PF: RigidTransform) -> None:
        self._frame_poses.set_pose_in_parent(context, frame, X_PF)

    def _require_finalized(self, what: str) -> None:
        self._model.require_finalized(what)

    def _describe_element_failure(self, context: Any, status: int) -> str:
        return self._force_elements.describe_failure(context, self._workspace(context), status)

    @property
    def _geometry_pose_port(self) -> LeafOutputPort:
        port: LeafOutputPort = self._outputs.geometry_pose_port
        return port

    def _declare_constraints(self) -> None:
        self._constraints.declare()

    def _active_constraints(self, context: Any) -> list[ConstraintSpec]:
        return self._constraints.active(context)

    def _describe_constraint(self, spec: ConstraintSpec) -> str:
        return self._constraints.describe(spec)

    def _read_parameter(self, context: Any, index: int) -> dict[MultibodyConstraintId, Any]:
        return self._constraints.read_parameter(context, index)

    @property
    def _has_constraints(self) -> bool:
        return self._constraints.has_any

    @property
    def _constraint_status_parameter(self) -> int:
        return self._constraints.status_parameter

    @property
    def _distance_params_parameter(self) -> int:
        return self._constraints.distance_parameter

    @property
    def _choices(self) -> ContactChoices:
        return self._settings.choices

    @property
    def _scene_graph(self) -> SceneGraph | None:
        return self._geometry.scene_graph

    @property
    def _source_id(self) -> SourceId | None:
        return self._geometry.source_id

    @property
    def _frame_ids(self) -> dict[int, FrameId]:
        return self._geometry.frame_ids

    @property
    def _collision_geometries(self) -> dict[int, list[GeometryId]]:
        return self._geometry.collision_geometries

    @property
    def _quaternions(self) -> dict[int, str]:
        return self._model.quaternions

    @property
    def _parameter_group(self) -> int:
        return self._views.parameter_group

    @property
    def _gravity_group(self) -> int:
        return self._views.gravity_group

    @property
    def _constant_group(self) -> int:
        return self._views.constant_group
