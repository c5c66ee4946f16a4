"""What is registered with a SceneGraph: frames, shapes, their properties and colors, and what queries return."""
