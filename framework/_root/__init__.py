"""merganser: block diagrams, simulation and multibody dynamics for robotics and control.

Import what you use from the four packages:

    from merganser.framework import DiagramBuilder, LeafSystem
    from merganser.analysis import Simulator
    from merganser.geometry import SceneGraph
    from merganser.multibody.plant import AddMultibodyPlantSceneGraph

This root module imports nothing heavy: it holds the version only.
"""

__version__ = "0.1.0"
