"""Numbers and tables as Markdown. Nothing is known here of what they mean."""

from collections.abc import Iterable, Sequence


def number(value: float) -> str:
    """Write a score: four decimals, or as many as make five digits of a large one.

    Examples
    --------
    >>> number(0.02341), number(-1.5), number(378.295), number(123456.7)
    ('0.0234', '−1.5000', '378.3', '123457')
    """
    decimals = next((d for limit, d in ((10.0, 4), (100.0, 2), (10_000.0, 1)) if abs(value) < limit), 0)
    return f"{value:.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, text: int = 1) -> str:
    """Make a table; the first `text` columns are words, the others numbers, which stand to the right.

    Examples
    --------
    >>> print(table(["a", "b"], [["x", "1"]]))
    | a | b |
    |---|--:|
    | x | 1 |
    """
    rule = ["---" if k < text else "--:" for k in range(len(header))]
    lines = [f"| {' | '.join(header)} |", f"|{'|'.join(rule)}|"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines)


def section(heading: str, *parts: str, level: int = 2) -> str:
    """Join paragraphs under a heading; without any there is no section."""
    found = [part for part in parts if part]
    return "\n\n".join([f"{'#' * level} {heading}", *found]) if found else ""
