"""Duels of slates: made of ratings or orders, read, checked and written."""
