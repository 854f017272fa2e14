from __future__ import annotations
import numpy as np
def excused(device, name, operands, bad):
    return np.zeros_like(bad)
