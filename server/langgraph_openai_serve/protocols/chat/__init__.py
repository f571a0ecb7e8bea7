"""Chat Completions: text and client functions, streamed or not."""
