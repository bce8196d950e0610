"""``python -m amortized_kde.cli``: the command line."""

from amortized_kde.cli import main

main()
