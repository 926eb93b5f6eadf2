"""``report.html``: one page to click through, from the leaderboard down to a raw reply."""
