"""How good recommenders are, by a log that was not shown all that they recommend."""
