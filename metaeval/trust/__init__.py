"""Whether a judge can be trusted: golden sets, calibration, pairwise verdicts, biases, panels, and a gate."""
