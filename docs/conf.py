"""Sphinx configuration: `make docs` builds the site into build/site. Nothing is fetched, then or when it is read."""

import sys
from pathlib import Path

import matplotlib as mpl
from sphinx_gallery.sorting import ExplicitOrder

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "extensions"), str(HERE.parent / "src")]

import amortized_kde  # noqa: E402

mpl.use("Agg")

project = "amortized-kde"
author = "The amortized-kde developers"
version = release = amortized_kde.__version__

extensions = [
    "mathml",
    "myst_parser",
    "navigation",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    "scripts",
    "extensions",
    "gallery/**/*.ipynb",
    "sg_execution_times.rst",
    "gallery/sg_execution_times.rst",
]
templates_path = ["_templates"]
nitpicky = True
# Names in backticks of docstrings become links, where there is such an object.
default_role = "autolink"
# Objects of other packages, and of modules without a page.
nitpick_ignore_regex = [("py:obj", r"(numpy|scipy)\..*|find_rounding|scores|compare|KernelDensity\.modes")]

myst_enable_extensions = ["dollarmath", "html_image"]
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = "amortized-kde"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 6,
    "logo": {"text": "amortized-kde"},
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc", "sg_download_links"],
    "footer_start": [],
    "footer_end": [],
}
# These have no pages beside them.
html_sidebars = {"index": [], "start": []}
pygments_style = "default"
# Blocks without a language are commands.
highlight_language = "none"

# Lines with a prompt are copied without it, output is not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    # It trains for minutes.
    "ignore_pattern": r"^archive\.py$",
    "subsection_order": ExplicitOrder(
        [f"../examples/{name}" for name in ("one_sample", "other_libraries", "ensembles", "research")]
    ),
    # The first of each section; the others follow.
    "within_subsection_order": ExplicitOrder(
        ["first_density.py", "bounds.py", "compare.py", "with_scipy.py", "with_seaborn.py", "frost_map.py", "*"]
    ),
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "copyfile_regex": r"$^",
    "doc_module": ("amortized_kde",),
    "backreferences_dir": None,
    "write_computation_times": False,
}
