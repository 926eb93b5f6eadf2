"""What people would have said of all units: a judge, corrected by people."""
