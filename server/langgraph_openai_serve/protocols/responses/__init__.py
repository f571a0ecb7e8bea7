"""Responses: items, typed events, client functions, commentary."""
