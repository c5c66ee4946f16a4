"""RenderEngineVtk, and all that is made with VTK; imported when the first engine is made."""
