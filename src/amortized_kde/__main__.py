"""``python -m amortized_kde``: the command line."""

from amortized_kde.cli import main

main()
