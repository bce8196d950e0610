"""Formulas as MathML, which browsers show by themselves: no script and nothing from the network."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def visit_inline(self: Any, node: nodes.math) -> None:
    """Write a formula inside a sentence."""
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    self.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer as `mathml`."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
