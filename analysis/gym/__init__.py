"""Environments of Gymnasium made of diagrams: the names of pydrake.gym, and many worlds as one vector environment."""

try:
    import gymnasium as _gymnasium  # noqa: F401
except ImportError as error:
    raise ImportError(
        "merganser.analysis.gym needs Gymnasium. Install the extra: pip install 'merganser[gym]'."
    ) from error

from merganser.analysis.gym.drake_gym_env import DrakeGymEnv, DrakeVectorEnv, MakeVectorEnv

__all__ = ["DrakeGymEnv", "DrakeVectorEnv", "MakeVectorEnv"]
