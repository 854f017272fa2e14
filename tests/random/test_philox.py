"""Philox's words: Random123's known answers, in kernels and as NumPy's stream; the bit generator's state."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import ArgumentTypeError, ArgumentValueError
from portagpu.random import Generator, Philox, Philox4x64, default_rng, philox4x32, philox4x64

# counter, key, words: the lines philox4x32-10 and philox4x64-10 of Random123's known answers
NARROW = [
    ("0 0 0 0", "0 0", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
WIDE = [
    ("0 0 0 0", "0 0", "16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b"),
    (
        " ".join(["f" * 16] * 4),
        " ".join(["f" * 16] * 2),
        "87b092c3013fe90b 438c3c67be8d0224 9cc7d7c69cd777b6 a09caebf594f0ba0",
    ),
    (
        "243f6a8885a308d3 13198a2e03707344 a4093822299f31d0 082efa98ec4e6c89",
        "452821e638d01377 be5466cf34e90c6c",
        "a528f45403e61d95 38c72dbd566e9788 a5a1610e72fd18b5 57bd43b5e52b7fe6",
    ),
]


def _numbers(text, dtype):
    return np.array([int(word, 16) for word in text.split()], dtype)


@cuda.jit
def _narrow(out, counter, key):
    for k, word in enumerate(philox4x32((counter[0], counter[1], counter[2], counter[3]), (key[0], key[1]))):
        out[k] = word


@cuda.jit
def _wide(out, counter, key):
    for k, word in enumerate(philox4x64((counter[0], counter[1], counter[2], counter[3]), (key[0], key[1]))):
        out[k] = word


@pytest.mark.parametrize("kernel, dtype, answers", [(_narrow, np.uint32, NARROW), (_wide, np.uint64, WIDE)])
def test_blocks_are_the_known_answers(device, kernel, dtype, answers):
    for counter, key, words in answers:
        out = np.zeros(4, dtype)
        kernel[1, 1](out, _numbers(counter, dtype), _numbers(key, dtype))
        assert (out == _numbers(words, dtype)).all()


def test_the_reference_stream_is_numpys(device):
    ours, theirs = Philox4x64(42), np.random.Generator(np.random.Philox(42))
    for count in (5, 1, 1000, 3):
        assert (ours.random_raw(count).copy_to_host() == theirs.bit_generator.random_raw(count)).all()
    assert (ours.random(7, np.float32).copy_to_host() == theirs.random(7, np.float32)).all()
    assert (ours.random((3, 3), np.float32).copy_to_host() == theirs.random((3, 3), np.float32)).all()
    if device.capabilities.fp64:
        assert (ours.random(17).copy_to_host() == theirs.random(17)).all()


def test_the_reference_streams_integers_are_numpys(device):
    ours, theirs = Philox4x64(7), np.random.Generator(np.random.Philox(7))

    def same(*args, **options):
        found, wanted = ours.integers(*args, **options), theirs.integers(*args, **options)
        assert (found.shape, found.dtype) == (np.shape(wanted), wanted.dtype)
        np.testing.assert_array_equal(found.copy_to_host(), wanted)

    same(0, 6, 101)
    same(5, size=(3, 4), dtype=np.int32)
    same(-(2**31), 2**31 - 1, 33, dtype=np.int32, endpoint=True)
    same(0, 3 * 2**30, 1000, dtype=np.uint32)  # a quarter of the words is refused
    assert (ours.random(3, np.float32).copy_to_host() == theirs.random(3, np.float32)).all()
    same(-100, 101, 50, dtype=np.int16)
    same(0, 256, 7, dtype=np.uint8)
    same(0, 130, 500, dtype=np.uint8)
    same(0, 2, 77, dtype=bool)
    assert (ours.random_raw(5).copy_to_host() == theirs.bit_generator.random_raw(5)).all()  # half a word is kept
    same(0, 2**32, 9)
    same(0, 2**63 + 5, 300, dtype=np.uint64)
    same(-(2**63), 2**63 - 1, 5, endpoint=True)
    same(4, 5, 3)
    same(0, 10, 0)
    if device.capabilities.fp64:
        assert (ours.random(17).copy_to_host() == theirs.random(17)).all()
    assert (ours.random(5, np.float32).copy_to_host() == theirs.random(5, np.float32)).all()
    with pytest.raises(ArgumentTypeError, match="bounds"):
        ours.integers(0, np.array([3, 4]))
    with pytest.raises(ArgumentValueError):
        ours.integers(3, 3)


def test_the_reference_stream_jumps_and_carries_as_numpys(device):
    key, counter = 2**100 + 17, 2**192 - 3
    ours, theirs = Philox4x64(key=key, counter=counter), np.random.Philox(key=key, counter=counter)
    assert (ours.random_raw(40).copy_to_host() == theirs.random_raw(40)).all()
    assert (ours.jumped(3).random_raw(8).copy_to_host() == theirs.jumped(3).random_raw(8)).all()


@pytest.mark.one_device
def test_states_are_kept_and_set(device):
    rng = default_rng(5)
    rng.random(10)
    state = rng.bit_generator.state
    first = rng.standard_normal(9, np.float32).copy_to_host()
    rng.bit_generator.state = state
    assert (rng.standard_normal(9, np.float32).copy_to_host() == first).all()
    rng.bit_generator.state = state
    copy = pickle.loads(pickle.dumps(rng))
    assert (copy.standard_normal(9, np.float32).copy_to_host() == first).all()
    assert copy.spawn(1)[0].bit_generator.state == default_rng(5).spawn(1)[0].bit_generator.state


def test_calls_go_on_where_the_last_one_ended(device):
    """Whole blocks: of float32 four numbers each."""
    rng = Generator(Philox(key=3))
    parts = [rng.random(n, np.float32).copy_to_host() for n in (8, 5, 4)]
    whole = Generator(Philox(key=3)).random(20, np.float32).copy_to_host()
    assert (np.concatenate(parts) == np.delete(whole, [13, 14, 15])[:17]).all()
    later = Generator(Philox(key=3).advance(4)).random(4, np.float32).copy_to_host()
    assert (later == whole[16:]).all()


def test_streams_places_and_keys_give_other_numbers(device):
    numbers = [
        Generator(bits).integers(0, 2**32, 64, np.uint32).copy_to_host()
        for bits in (
            Philox(key=1),
            Philox(key=2),
            Philox(key=1).jumped(),
            Philox(key=1, counter=2**63),
            *Philox(1).spawn(2),
        )
    ]
    for k, one in enumerate(numbers):
        for other in numbers[:k]:
            assert not np.isin(one, other).all() and (one != other).mean() > 0.9


def test_what_is_no_seed_or_key_is_refused():
    with pytest.raises(ArgumentValueError, match="not negative"):
        default_rng(-1)
    with pytest.raises(ArgumentTypeError, match="a seed is an integer"):
        default_rng("x")
    with pytest.raises(ArgumentTypeError, match="one too many"):
        Philox(1, key=2)
    with pytest.raises(ArgumentValueError, match="below 2"):
        Philox(key=2**64)
    with pytest.raises(ArgumentTypeError, match="no seed to spawn from"):
        Philox(key=1).spawn(2)
    with pytest.raises(ArgumentTypeError, match="attribute state"):
        Philox(key=1).state = {}
    with pytest.raises(ArgumentTypeError, match="takes a Philox"):
        Generator(np.random.Philox(1))
