"""How far judges agree with people, kept and held to."""
