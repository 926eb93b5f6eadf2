"""The batches of a store, too, are the same in a file and in a database."""

from tests.llm.store.conftest import store

__all__ = ["store"]
