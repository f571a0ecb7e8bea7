"""What a graph author meets: `GraphConfig`, `GraphRequest`, `ClientSettings`, `GraphRegistry`, `status_event`.

Belongs here: everything said about a graph before it runs. Does not belong here: running it, HTTP, OpenAI's shapes.
"""
