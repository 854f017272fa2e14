"""Values that a graph of launches writes: all that NumPy assigns of Python's own, to views of every kind."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import DTypeError, GraphError, ShapeError

RECORD = np.dtype([("a", np.float32), ("n", np.int32, 2)])
PLACES = {
    "all": np.s_[:],
    "rows": np.s_[1:3],
    "a column": np.s_[:, 2],
    "a row": np.s_[3],
    "every other": np.s_[::2, 1::3],
    "reversed": np.s_[::-1, ::-1],
    "an element": np.s_[2, 5],
    "nothing": np.s_[4:4],
}
KINDS = ["bool", "int8", "uint16", "int32", "int64", "float32", "complex64"]


def written(host, places, value):
    """What assigning in a graph leaves after a later launch, and how many steps the graph has."""
    x = cuda.to_device(host)
    with cuda.graph() as graph:
        for place in places:
            x[place] = value
    at_once = x.copy_to_host()
    x.copy_to_device(host)
    graph.launch()
    found = x.copy_to_host()
    np.testing.assert_array_equal(at_once, found)
    return found, len(graph)


def assigned(host, places, value):
    wanted = host.copy()
    for place in places:
        wanted[place] = value
    return wanted


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", "CF")
def test_numbers_go_to_views(device, kind, order):
    host = np.asarray(np.arange(48).reshape(6, 8) % 5 + 1, kind, order=order)
    for place in PLACES.values():
        for value in (0, True, np.asarray(3, kind)[()]):
            found, steps = written(host, [place], value)
            np.testing.assert_array_equal(found, assigned(host, [place], value))
            assert steps == (1 if host[place].size else 0)


def test_lists_tuples_and_records(device):
    host = np.ones((3, 4), np.float32)
    for place, value in [
        (np.s_[:], [1.5, 2, 3, 4]),
        (np.s_[1], (5, 6, 7, 8)),
        (np.s_[:, ::2], [[1], [2], [3]]),
        (np.s_[:, 1], [7.0, 8.0, 9.0]),
    ]:
        found, _ = written(host, [place], value)
        np.testing.assert_array_equal(found, assigned(host, [place], value))
    records = np.ones(5, RECORD)
    for place, value in [(np.s_[1:4], (2.5, (3, 4))), (2, (1.5, (8, 9)))]:
        found, _ = written(records, [place], value)
        assert found.tobytes() == assigned(records, [place], value).tobytes()
    found, _ = written(records, ["a"], 0)
    assert found.tobytes() == assigned(records, ["a"], 0).tobytes()


def test_several_in_order(device):
    host = np.zeros(64, np.int32)
    places = [np.s_[:], np.s_[8:16], np.s_[::3]]
    x = cuda.to_device(host)
    with cuda.graph() as graph:
        for n, place in enumerate(places):
            x[place] = 0 if n == 1 else n + 7
    for n, place in enumerate(places):
        host[place] = 0 if n == 1 else n + 7
    x[:] = 99
    graph.launch()
    np.testing.assert_array_equal(x.copy_to_host(), host)
    assert len(graph) == 3


def test_values_are_those_of_the_recording(device):
    """Lists may change later, and streams' arrays are written in their streams."""
    x = cuda.device_array(4, np.int32, stream=cuda.stream())
    values = [1, 2, 3, 4]
    with cuda.graph() as graph:
        x[:] = values
    values[0] = 77
    x[:] = 0
    graph.launch()
    cuda.synchronize()
    np.testing.assert_array_equal(x.copy_to_host(stream=cuda.default_stream()), [1, 2, 3, 4])


def test_arrays_of_the_host_are_refused(device):
    """They may have other elements by the next launch, and none is a constant."""
    x = cuda.device_array((2, 4), np.float32)
    for value in (np.zeros(4, np.float32), np.zeros((), np.float32), memoryview(b"abcd")):
        with pytest.raises(GraphError, match="cannot be part of a graph") as caught, cuda.graph():
            x[:] = value
        assert caught.value.span.text.strip() == "x[:] = value" and "host" in caught.value.hint


def test_values_that_do_not_fit(device):
    x = cuda.device_array(4, np.int8)
    for value, error in ((1000, DTypeError), ([1, 2], ShapeError), ("x", DTypeError), (1j, DTypeError)):
        with pytest.raises(error), cuda.graph():
            x[:] = value
        with pytest.raises(error):
            x[:] = value


def test_large_fills_without_a_graph(device):
    """They are made on the device, also in a part of an array, and in its stream."""
    host = np.arange(1 << 14, dtype=np.float32)
    x = cuda.to_device(host)
    x[100:-100] = 0
    host[100:-100] = 0
    np.testing.assert_array_equal(x.copy_to_host(), host)
    wide = cuda.to_device(np.ones((64, 64), np.int64))
    wide[3:60].setitem(np.s_[:], -1, cuda.stream())
    cuda.synchronize()
    wanted = np.ones((64, 64), np.int64)
    wanted[3:60] = -1
    np.testing.assert_array_equal(wide.copy_to_host(), wanted)
