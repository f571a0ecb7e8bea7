"""The operator: turns LanggraphModels into Deployments, Services and registry entries, and reports what it sees.

Belongs here: reconciling. Does not belong here: anything that a model's pod runs. `lgos operator` starts
`lgos_operator.program`; `lgos render` calls `lgos_operator.desired.render`. Imported by the command line only.
"""
