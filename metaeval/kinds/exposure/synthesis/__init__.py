"""Synthetic interactions under control: what they may be, how many go to the tail, and what they change."""
