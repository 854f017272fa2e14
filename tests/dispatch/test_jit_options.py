"""Options that decorators do not have, and those that do not go together."""

from __future__ import annotations

import pytest

from portagpu import cuda, errors
from portagpu.cuda.errors import NumbaInvalidConfigWarning


@pytest.mark.parametrize("kind", [TypeError, ValueError, KeyError, errors.SettingsError, errors.ArgumentTypeError])
def test_unknown_options_are_errors_of_every_kind_that_programs_catch(kind):
    with pytest.raises(kind, match=r"cuda\.jit has no option 'fastmaths'"):
        cuda.jit(fastmaths=True)
    with pytest.raises(kind, match="Unrecognized options") as caught:
        cuda.vectorize(["float32(float32)"], fastmaths=True, other=1)
    assert str(caught.value).endswith(": fastmaths, other")
    with pytest.raises(kind, match="target options are not supported: fastmaths"):
        cuda.guvectorize(["float32[:], float32[:]"], "(n)->(n)", fastmaths=True)


def test_options_that_the_original_does_not_take_together_warn():
    with pytest.warns(NumbaInvalidConfigWarning, match="debug=True with opt=True"):
        cuda.jit(debug=True, opt=True)
    with pytest.warns(NumbaInvalidConfigWarning, match="mutually exclusive") as caught:
        cuda.jit(debug=True, lineinfo=True, opt=False)(lambda: None)
    assert [w.filename for w in caught] == [__file__]
    cuda.jit(debug=True)
    cuda.jit(debug=True, opt=False)
    cuda.jit(lineinfo=True)


def test_what_only_kernels_have_is_an_error_of_the_host():
    for use in (lambda: cuda.grid(1), cuda.syncthreads, lambda: cuda.shared.array(3, "f4"), lambda: cuda.float32x2(1)):
        with pytest.raises(NotImplementedError, match="works only inside a kernel"):
            use()
    assert not hasattr(cuda.grid, "x")


def test_streams_say_what_they_are(device):
    assert repr(cuda.stream()).startswith("<CUDA stream of portagpu on ")
    assert "Default CUDA stream" in repr(cuda.default_stream())
    assert repr(cuda.legacy_default_stream()).startswith("<Legacy default CUDA stream")
    assert repr(cuda.per_thread_default_stream()).startswith("<Per-thread default CUDA stream")
    with pytest.raises(errors.CudaAPIError, match="was not recorded"):
        cuda.event().elapsed_time(cuda.event())
