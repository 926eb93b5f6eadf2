"""What sways a judge beside the quality of a text."""
