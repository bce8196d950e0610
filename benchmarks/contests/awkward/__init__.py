"""Every library on awkward data: far tails, ties, outliers, odd units, few values, bad input, bounds."""
