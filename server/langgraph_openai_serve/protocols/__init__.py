"""OpenAI's two APIs over one run core: each decodes a body to a `GraphRequest` and encodes `RunEvent`s to bytes.

Belongs here: what fields and events mean. Does not belong here: HTTP, sockets, invoking graphs. `chat` and `responses`
never import each other; `web` and `background` import both.
"""
