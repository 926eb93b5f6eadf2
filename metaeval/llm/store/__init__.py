"""The store of replies, and claims of requests that are under way."""
