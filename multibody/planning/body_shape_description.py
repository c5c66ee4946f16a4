"""BodyShapeDescription: a shape on a body of a plant, told by names."""

from __future__ import annotations

from merganser.framework import Context
from merganser.framework.math import RigidTransform
from merganser.geometry import GeometryId, QueryObject, Shape
from merganser.multibody.plant import MultibodyPlant

__all__ = ["BodyShapeDescription", "MakeBodyShapeDescription"]


class BodyShapeDescription:
    """A shape S that is fixed to a body B.

    Args:
        shape: S; or another BodyShapeDescription.
        X_BS: its pose in the frame of the body.
        model_instance_name, body_name: of the body.
    """

    _shape: Shape
    _X_BS: RigidTransform
    _model_instance_name: str
    _body_name: str

    def __init__(
        self,
        shape: Shape | BodyShapeDescription | None = None,
        X_BS: RigidTransform | None = None,
        model_instance_name: str = "",
        body_name: str = "",
        *,
        other: BodyShapeDescription | None = None,
    ) -> None:
        source = shape if isinstance(shape, BodyShapeDescription) else other
        if source is not None:
            shape, X_BS = source._shape, source._X_BS
            model_instance_name, body_name = source._model_instance_name, source._body_name
        if not isinstance(shape, Shape) or not isinstance(X_BS, RigidTransform):
            raise TypeError(
                "BodyShapeDescription() takes a Shape, a RigidTransform and two names; got "
                f"{type(shape).__name__} and {type(X_BS).__name__}."
            )
        self._shape, self._X_BS = shape, X_BS
        self._model_instance_name, self._body_name = str(model_instance_name), str(body_name)

    def shape(self) -> Shape:
        """The shape."""
        return self._shape

    def pose_in_body(self) -> RigidTransform:
        """X_BS."""
        return self._X_BS

    def model_instance_name(self) -> str:
        """The name of the model instance of the body."""
        return self._model_instance_name

    def body_name(self) -> str:
        """The name of the body."""
        return self._body_name

    def __repr__(self) -> str:
        return (
            f"BodyShapeDescription({self._shape!r}, {self._X_BS!r}, {self._model_instance_name!r}, {self._body_name!r})"
        )


def MakeBodyShapeDescription(
    plant: MultibodyPlant, plant_context: Context, geometry_id: GeometryId
) -> BodyShapeDescription:
    """Describes a geometry of a plant that is connected to a SceneGraph.

    Raises:
        RuntimeError: there is no such geometry, or it is not fixed to a body of the plant.
    """
    query: QueryObject = plant.get_geometry_query_input_port().Eval(plant_context)
    inspector = query.inspector()
    body = plant.GetBodyFromFrameId(inspector.GetFrameId(geometry_id))
    if body is None:
        raise RuntimeError(
            f"MakeBodyShapeDescription(): geometry '{inspector.GetName(geometry_id)}' is not fixed to a body of plant "
            f"'{plant.GetSystemPathname()}'."
        )
    return BodyShapeDescription(
        inspector.GetShape(geometry_id), inspector.GetPoseInFrame(geometry_id),
        plant.GetModelInstanceName(body.model_instance()), body.name(),
    )  # fmt: skip
