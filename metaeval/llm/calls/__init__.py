"""Requests, and how they are sent: client, caller, runner, limits, prices."""
