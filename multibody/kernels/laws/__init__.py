"""Laws of actuators that are more than a force or a PD controller: what they make of controls and states."""

from merganser.multibody.kernels.laws.affine import AFFINE
from merganser.multibody.kernels.laws.belt import BELT
from merganser.multibody.kernels.laws.dc_motor import DC_MOTOR
from merganser.multibody.kernels.laws.kernel import actuator_laws
from merganser.multibody.kernels.laws.kind import ActuatorLawKind
from merganser.multibody.kernels.laws.muscle import MUSCLE
from merganser.multibody.kernels.laws.orientation import ORIENTATION
from merganser.multibody.kernels.laws.records import Laws, law_dtype
from merganser.multibody.kernels.laws.servo import INTEGRAL, SERVO
from merganser.multibody.kernels.laws.table import set_law_kind

__all__ = [
    "AFFINE",
    "BELT",
    "DC_MOTOR",
    "INTEGRAL",
    "MUSCLE",
    "ORIENTATION",
    "SERVO",
    "ActuatorLawKind",
    "Laws",
    "actuator_laws",
    "law_dtype",
    "set_law_kind",
]
