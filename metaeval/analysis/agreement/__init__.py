"""Agreement with the truth beside the leaderboard: measures, people, reliability, variance."""
