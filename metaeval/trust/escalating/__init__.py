"""Which units an evaluator decides, and which it hands on."""
