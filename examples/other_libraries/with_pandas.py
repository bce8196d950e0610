"""
pandas and polars
=================

``Series.plot.kde`` takes ``bw_method``. Columns of pandas and polars also go straight into ``akde.fit``.
"""

from importlib.resources import files

import matplotlib.pyplot as plt
import pandas as pd
import polars

import amortized_kde as akde
from amortized_kde.integrations.scipy import bandwidth_factor

table = pd.read_csv(files("amortized_kde") / "app/data/faithful.csv")
print(table.describe().round(2))

# %%
# The default of pandas, and ours.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for ax, name in zip(axes, table.columns, strict=True):
    table[name].plot.kde(ax=ax, color="0.6", label="default")
    table[name].plot.kde(
        ax=ax, bw_method=bandwidth_factor(bounds=(0, None)), label="bandwidth_factor()"
    )
    ax.set(xlabel=f"{name} (minutes)", ylim=(0.0, 1.3 * ax.get_ylim()[1]))
    ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# A column is a sample, in either library.

frame = polars.from_dict(table.to_dict(orient="list"))
for column in (table["waiting"], frame["waiting"]):
    print(f"90 % quantile: {akde.fit(column).ppf(0.9):.2f} minutes")
