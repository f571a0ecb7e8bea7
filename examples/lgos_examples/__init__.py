"""Graphs to try LGOS with; `examples/models` declares those that need no key, `examples/with-key` the other one."""
