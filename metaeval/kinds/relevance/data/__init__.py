"""Test collections: labels of users' interest, lists of systems, fields of users and items."""
