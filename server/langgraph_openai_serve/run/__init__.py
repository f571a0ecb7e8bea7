"""The run core: a `GraphRequest` goes in, `RunEvent`s come out. No HTTP and no OpenAI words.

Belongs here: invoking a graph and reading what it says. Imports `graph` and `ports`; imported by `protocols` and above.
"""
