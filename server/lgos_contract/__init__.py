"""What the programs of LGOS agree on: the manifest, the registry document and the environment of a pod.

Belongs here: models and names that one program writes and another one reads. Does not belong here: anything that
acts. Imported by the operator, the gateway and the composition roots of the server; needs pydantic only.
"""
