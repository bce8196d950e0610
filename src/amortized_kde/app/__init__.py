"""The web page: numbers are pasted or uploaded, and their density is seen, compared and taken away.

`page.py` is the script that Streamlit runs, and the files that end in ``_view`` draw its parts. Nothing that a person
brings is written to disk, logged, or executed.
"""
