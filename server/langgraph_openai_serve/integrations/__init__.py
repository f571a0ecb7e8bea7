"""One optional library each: Prometheus here; a core room never imports them, a composition root hands them in."""
