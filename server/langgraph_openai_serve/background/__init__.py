"""Background Responses: the engine-independent part. Empty in this version; the routes answer as without an engine."""
