"""What every model judge shares, whatever it judges: settings, asking, outcome, estimate, cost."""
