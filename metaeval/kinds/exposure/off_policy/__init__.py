"""What a policy would earn, estimated from the log of another one."""
