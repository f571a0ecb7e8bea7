"""The command line `lgos`.

Belongs here: arguments, what a person reads, and starting a program. Each program is imported when it is asked for, so
`lgos operator` loads no web framework and `lgos gateway` no LangGraph. Does not belong here: what a program does.
"""
