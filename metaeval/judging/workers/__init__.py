"""Workers that ask for a run: processes of Ray, on this machine or on many."""
