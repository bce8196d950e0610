"""Checked arrays from raw input (`reading`), samples (`sample`) and where they can lie (`support`)."""
