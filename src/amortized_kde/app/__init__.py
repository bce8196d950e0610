"""The web page: paste or upload numbers; see, compare and take away their density.

`page.py` is the script that Streamlit runs, and the modules that end in ``_view`` draw its parts. Nothing that a
visitor brings is written to disk, logged, or executed.
"""
