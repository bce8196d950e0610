"""Densities as plain data: nothing is lost, and everything is checked on the way back."""

import json
import math

import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde import KernelDensity
from amortized_kde.errors import InvalidParameterError

X = np.random.default_rng(5).gamma(2.0, 1.0, 50)
DENSITIES = {
    "one bandwidth": KernelDensity(X, bandwidth=0.3),
    "weights and a bound": KernelDensity(X, bandwidth=0.3, bounds=(0, None), weights=np.arange(1.0, 51.0)),
    "adaptive": akde.fit(X),
    "adaptive, bounds": akde.fit(X, bounds=(0, 30)),
    "anchors": akde.fit(np.random.default_rng(6).normal(size=70_000)),
}


@pytest.mark.parametrize("name", DENSITIES)
def test_json_loses_nothing(name):
    d = DENSITIES[name]
    text = json.dumps(d.to_dict(), allow_nan=False)
    twin = KernelDensity.from_dict(json.loads(text))
    assert twin.to_dict() == d.to_dict()
    assert (repr(twin), twin.domain, twin.support()) == (repr(d), d.domain, d.support())
    at = d.grid(9)
    assert np.array_equal(twin.logpdf(at), d.logpdf(at))
    assert np.array_equal(twin.sample(5, rng=1), d.sample(5, rng=1))


def test_the_name_goes_along():
    pandas = pytest.importorskip("pandas")
    d = akde.fit(pandas.Series(X, name="rain"))
    assert KernelDensity.from_dict(d.to_dict()).name == "rain"


CHANGES = {
    "no mapping": lambda data: [data],
    "a key too few": lambda data: {key: data[key] for key in data if key != "weights"},
    "a key too many": lambda data: data | {"more": 1},
    "keys that are no text": lambda data: data | {3: 1},
    "another format": lambda data: data | {"format": 0},
    "points that are text": lambda data: data | {"points": ["1"] * 50},
    "points not in order": lambda data: data | {"points": data["points"][::-1]},
    "infinite points": lambda data: data | {"points": [math.inf] * 50},
    "ragged points": lambda data: data | {"points": [[1.0], [1.0, 2.0]]},
    "no points": lambda data: data | {"points": None},
    "weights of another sum": lambda data: data | {"weights": [1.0] * 50},
    "a negative bandwidth": lambda data: data | {"bandwidths": [-1.0, *data["bandwidths"][1:]]},
    "shares of another shape": lambda data: data | {"shares": data["shares"][:-1]},
    "shares missing": lambda data: data | {"shares": None},
    "shares of another sum": lambda data: data | {"shares": (0.5 * np.array(data["shares"])).tolist()},
    "epsilon above 1": lambda data: data | {"epsilon": 1.5},
    "epsilon that is a list": lambda data: data | {"epsilon": [0.1]},
    "bounds inside the data": lambda data: data | {"bounds": [1.0, None]},
    "bounds that are none": lambda data: data | {"bounds": 5},
    "a background of three numbers": lambda data: data | {"background": [1.0, 2.0, 3.0]},
    "a background without scale": lambda data: data | {"background": [1.0, 0.0]},
    "an infinite domain": lambda data: data | {"domain": [0.0, math.inf]},
    "anchors between points": lambda data: data | {"anchors": [0, 0.5, 49]},
    "a method that is no text": lambda data: data | {"method": 3},
    "a long method": lambda data: data | {"method": "x" * 20_000},
    "a name that is no text": lambda data: data | {"name": None},
}


@pytest.mark.parametrize("change", CHANGES)
def test_wrong_data_are_refused_with_a_sentence(change):
    with pytest.raises(InvalidParameterError) as caught:
        KernelDensity.from_dict(CHANGES[change](DENSITIES["adaptive"].to_dict()))
    assert str(caught.value).endswith(".")
    assert len(str(caught.value)) < 500
