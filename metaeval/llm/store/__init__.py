"""Replies that are kept, and who is asking for which."""
