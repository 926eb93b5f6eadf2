"""Judges that rate explanations one by one."""
