"""Names of NumPy array types."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Index = NDArray[np.int64]
Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]
