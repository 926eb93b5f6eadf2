"""The kinds of study, one folder each; a kind imports no other kind."""
