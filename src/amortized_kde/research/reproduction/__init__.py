"""Which method does best: protocols that fit on some data and judge on other data."""
