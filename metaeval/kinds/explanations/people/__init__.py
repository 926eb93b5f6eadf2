"""Studies whose truth is what several people said, all of it: their distribution, and each of them."""
