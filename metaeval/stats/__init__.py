"""Statistics on arrays: numpy and scipy in, numbers out; nothing here knows what an explanation is."""
