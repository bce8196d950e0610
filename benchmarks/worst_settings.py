"""The settings in which an estimator does worst: mean difference to two classical selectors, by data, n and bounds.

    python benchmarks/worst_settings.py [--tasks 500] [--sizes 5 10 30 100 256] [--method amortized] [--out results]

Settings are the ten families and mixtures of 1 to 32 components, with known and unknown bounds, and the kinds of the
broad world with every set of known bounds that it has (contests/worst_settings.py). Models are trained in the broad
world; the tasks here are new. The ten worst settings against each reference are listed.
"""

import argparse
import warnings
from pathlib import Path

from rich.progress import track

from amortized_kde.errors import AmortizedKdeWarning
from amortized_kde.research.provenance import models_behind, record_files
from amortized_kde.research.reproduction.tables import write_csv
from contests.rivals import UNDER_TEST
from contests.scores import verdict
from contests.worst_settings import REFERENCES, SIZES, all_settings, setting_differences

COLUMNS = (
    *("group", "which", "bounds", "n", "reference", "tasks"),
    *("difference_bits", "standard_error", "median_difference_bits", "verdict"),
)
LISTED = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--method", default=UNDER_TEST)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", AmortizedKdeWarning)
    settings = list(all_settings(options.sizes))
    found = {s: setting_differences(s, options.method, options.tasks) for s in track(settings, description="scoring")}
    options.out.mkdir(parents=True, exist_ok=True)
    lines = [
        (s.group, s.which, s.bounds, s.n, reference, d.count, d.value, d.standard_error, median, verdict(d))
        for s, differences in found.items()
        for reference, (d, median) in differences.items()
    ]
    write_csv(options.out / "worst_settings.csv", COLUMNS, lines)
    record_files(options.out, ["worst_settings.csv"], models_behind([options.method, *REFERENCES]))
    for reference in REFERENCES:
        worse = sum(verdict(differences[reference].mean) == "worse" for differences in found.values())
        print(f"\n{options.method} is worse than {reference} in {worse} of {len(settings)} settings; the worst are:")
        for s in sorted(settings, key=lambda s: -found[s][reference].mean.value)[:LISTED]:
            d, median = found[s][reference]
            where = f"{s.group} {s.which}, bounds {s.bounds}, n = {s.n}, {d.count} tasks"
            print(f"  {d.value:+8.4f} ± {d.standard_error:.4f} {verdict(d):<9} median {median:+.4f}  {where}")


if __name__ == "__main__":
    main()
