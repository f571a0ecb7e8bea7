"""The gateway: one OpenAI base URL for all models of a cluster.

Belongs here: finding models in the registry, routing by `model`, passing answers through untouched. Does not belong
here: anything that looks into a run. Started by `lgos gateway`; imported by the command line only.
"""
