"""Types of elements that functions return as they were given."""

from typing import TypeVar

from merganser.multibody.tree.force_elements import ForceElement
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.joints import Joint

FrameT = TypeVar("FrameT", bound=Frame)
JointT = TypeVar("JointT", bound=Joint)
ForceElementT = TypeVar("ForceElementT", bound=ForceElement)
