"""HTTP: routes, bodies, event streams, errors. Knows FastAPI; receives integrations and never imports them."""
