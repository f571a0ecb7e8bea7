"""OpenAI's shapes: strict request models, the error envelope, the Model list.

Belongs here: what a request may hold and what an error looks like. Does not belong here: what a request means, or how
an answer is streamed. Source: OpenAI's API reference for Chat Completions, Responses and Models.
"""
