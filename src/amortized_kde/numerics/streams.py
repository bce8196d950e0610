"""Random streams by index: the numbers of stream i under a seed do not depend on which streams are drawn, or when.

A seed and a purpose become four 64-bit words (`stream_words`); words and an index become the state of one
xoshiro256++ generator (`start_stream`), from which the compiled loops draw.
"""

import numpy as np

from amortized_kde._types import Array, Index, Words
from amortized_kde.numerics.jit import entry, inlined

# Increment and multipliers of SplitMix64 (Steele, Lea and Flood 2014; Vigna's splitmix64.c).
_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_FIRST_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_MULTIPLIER = np.uint64(0x94D049BB133111EB)
_SHIFT_30, _SHIFT_27, _SHIFT_31 = np.uint64(30), np.uint64(27), np.uint64(31)
# Shift and rotations of xoshiro256++ (Blackman and Vigna 2021, table 2).
_SHIFT_17, _ROTATE_23, _ROTATE_45, _WORD = np.uint64(17), np.uint64(23), np.uint64(45), np.uint64(64)
# A float64 has 53 bits; half a unit more keeps the uniform number away from 0 and, by symmetry, from 1.
_SHIFT_11, _UNIT = np.uint64(11), 2.0**-53


def stream_words(seed: int, purpose: int) -> Words:
    """Return the four words that identify a family of streams, one stream for each index."""
    return np.random.SeedSequence([seed, purpose]).generate_state(4, np.uint64).astype(np.uint64)


@inlined
def _word_at(word: np.uint64, index: np.uint64) -> np.uint64:
    """Output `index` of SplitMix64 started at `word`: a bijection of the index."""
    z = word + (index + np.uint64(1)) * _INCREMENT
    z = (z ^ (z >> _SHIFT_30)) * _FIRST_MULTIPLIER
    z = (z ^ (z >> _SHIFT_27)) * _SECOND_MULTIPLIER
    return z ^ (z >> _SHIFT_31)


@inlined
def start_stream(state: Words, words: Words, index: int) -> None:
    """Set the state of stream `index`; different indices have different states, because each word is a bijection."""
    for j in range(4):
        state[j] = _word_at(words[j], np.uint64(index))


@inlined
def next_bits(state: Words) -> np.uint64:
    """Return the next 64 bits of xoshiro256++."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    total = s0 + s3
    bits: np.uint64 = ((total << _ROTATE_23) | (total >> (_WORD - _ROTATE_23))) + s0
    s2 ^= s0
    s3 ^= s1
    state[1] = s1 ^ s2
    state[0] = s0 ^ s3
    state[2] = s2 ^ (s1 << _SHIFT_17)
    state[3] = (s3 << _ROTATE_45) | (s3 >> (_WORD - _ROTATE_45))
    return bits


@inlined
def next_uniform(state: Words) -> float:
    """Return the next number in the open interval (0, 1)."""
    return (float(next_bits(state) >> _SHIFT_11) + 0.5) * _UNIT


@entry
def uniforms_at(words: Words, indices: Index) -> Array:
    """Return the first uniform number of the streams with these indices."""
    state = np.empty(4, np.uint64)
    out = np.empty(indices.size)
    for i in range(indices.size):
        start_stream(state, words, indices[i])
        out[i] = next_uniform(state)
    return out


def indexed_uniforms(words: Words, first: int, count: int) -> Array:
    """Return the first uniform number of the streams ``first .. first + count - 1``."""
    return uniforms_at(words, np.arange(first, first + count))
