"""SceneGraph: who is registered, where everything is, and the queries that are put to it."""
