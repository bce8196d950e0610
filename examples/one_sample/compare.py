"""
Compare methods on your data
============================

``akde.compare`` fits every method to nine tenths of the data and scores the rest, ten times. The score is in bits,
lower is better, and differences have standard errors.
"""

from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np

import amortized_kde as akde

x = np.loadtxt(
    files("amortized_kde") / "app/data/faithful.csv", delimiter=",", skiprows=1, usecols=0
)
methods = ["amortized", "lscv", "sheather-jones", "lcv", "silverman", "scott"]
table = akde.compare(x, methods=methods, bounds=(0, None))
print(table)

# %%
# Rows are ordered by score, and ``to_frame()`` returns them as a pandas DataFrame.

table.plot()
plt.show()
