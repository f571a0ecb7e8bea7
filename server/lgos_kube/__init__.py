"""A small asynchronous Kubernetes client: one connection, list+watch caches, server-side apply.

Belongs here: what the operator and the gateway both need from the API server. Does not belong here: any knowledge of
models, registries or reconciling. Needs aiohttp (and PyYAML for a kubeconfig); imported by `lgos_operator` and
`lgos_gateway` only.
"""
