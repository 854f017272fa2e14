"""What a report counts and shows."""

from __future__ import annotations

import threading

from portagpu.accelerate.report import Record, Report


def report(record, *remarks):
    return Report(device="a device", rows=record.rows(), remarks=remarks)


def test_an_empty_report():
    assert str(report(Record())) == "accelerate: a device\ntaken over: nothing\nleft to NumPy: nothing"


def test_calls_are_counted_by_function_operands_dtype_and_reason():
    record = Record()
    record.add("numpy.dot", "2x3 3x4", "float32", "", 0.5, 2.0)
    record.add("numpy.dot", "2x3 3x4", "float32", "", 0.25, 1.0)
    record.add("numpy.dot", "2x3 3x4", "float64", "", 1e-3, None)
    record.add("numpy.inner", "2x3 4x3", "float32", "too small", 2e-6, None)
    found = report(record, "a remark")
    assert [(row.calls, row.seconds, row.numpy_seconds) for row in found.taken] == [(2, 0.75, 3.0), (1, 1e-3, None)]
    assert found.gain == 2.25
    assert str(found).splitlines() == [
        "accelerate: a device",
        "taken over: 3 calls, 751 ms; NumPy would take 3 s for them (estimated): gain 2.25 s",
        "  function   operands  dtype    calls  time    NumPy's",
        "  numpy.dot  2x3 3x4   float32  2      750 ms  3 s",
        "  numpy.dot  2x3 3x4   float64  1      1 ms",
        "left to NumPy: 1 calls, 2 us",
        "  function     operands  dtype    calls  time  why",
        "  numpy.inner  2x3 4x3   float32  1      2 us  too small",
        "a remark",
    ]


def test_many_shapes_are_counted_together():
    record = Record()
    for n in range(1500):
        record.add("numpy.dot", f"{n}", "float32", "", 1e-3, None)
    found = report(record)
    assert sum(row.calls for row in found.rows) == 1500 and len(found.rows) == 1001
    assert found.rows[0].operands == "other shapes" and found.rows[0].calls == 500
    assert "and 989 calls, 989 ms in 989 more rows" in str(found)


def test_threads_lose_no_call():
    record = Record()
    threads = [
        threading.Thread(target=lambda: [record.add("f", "", "", "", 0.0, 1.0) for _ in range(500)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert record.rows()[0].calls == record.rows()[0].numpy_seconds == 4000
