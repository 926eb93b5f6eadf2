"""Exports of the tools in which judgements are made: one file per tool says how it is recognised and read."""
