"""The paper's evidence: its comparisons, tables, figures, and a verdict on every claim."""
