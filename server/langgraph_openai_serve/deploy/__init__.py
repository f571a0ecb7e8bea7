"""Composition roots: a declaration becomes a registry, and a registry a served process.

Belongs here: reading the environment and the mounted registry, importing graphs, starting and draining a server. Does
not belong here: how a request is answered. Imported by the command line only.
"""
