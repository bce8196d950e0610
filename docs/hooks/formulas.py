"""Formulas as MathML, which browsers show by themselves: no script and no network is needed.

In pages and docstrings alike ``$...$`` stands in the text and ``$$...$$`` by itself. Docstrings may also have reST's
``:math:`` and ``.. math::``, which is what NumPy's style asks for. Used as a hook of MkDocs and an extension of Griffe.
"""

import html
import re
from typing import Any

import griffe
from latex2mathml.converter import convert

# What the Markdown extension arithmatex makes of dollars, with its option `generic`.
_RENDERED = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?P<open>[(\[])(?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)
_ROLE = re.compile(r":math:`([^`]+)`")
_DIRECTIVE = re.compile(
    r"^(?P<indent> *)\.\. math:: *(?P<first>[^\n]*)(?P<rest>(?:\n(?P=indent) +[^\n]*)*)", re.MULTILINE
)


def on_page_content(content: str, /, **_: Any) -> str:
    """Convert the formulas that arithmatex marked to MathML; invalid LaTeX stops the build."""
    return _RENDERED.sub(_to_mathml, content)


def _to_mathml(match: re.Match[str]) -> str:
    latex = html.unescape(match["latex"]).strip()
    if match["open"] == "(":
        return convert(latex)
    return f'<div class="formula">{convert(latex, display="block")}</div>'


def dollars(docstring: str) -> str:
    """Rewrite reST formulas with dollars.

    Examples
    --------
    >>> dollars("Score :math:`q(x)`.")
    'Score $q(x)$.'
    >>> print(dollars(".. math:: a +\\n    b\\n\\nText."))
    $$
    a + b
    $$
    <BLANKLINE>
    Text.
    """
    return _DIRECTIVE.sub(_block, _ROLE.sub(r"$\1$", docstring))


def _block(match: re.Match[str]) -> str:
    latex = " ".join(f"{match['first']} {match['rest']}".split())
    return "\n".join(match["indent"] + line for line in ("$$", latex, "$$"))


class Formulas(griffe.Extension):
    """Griffe extension that rewrites the formulas of every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the formulas with dollars."""
        if obj.docstring is not None:
            obj.docstring.value = dollars(obj.docstring.value)
