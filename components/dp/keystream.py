"""Random numbers from a cipher: nobody who sees some of them can tell others.

A key of the operating system's entropy drives AES-256 in counter mode; its keystream is read as whole numbers of 64
bits. Normal numbers come from pairs of them by Box and Muller (Ann. Math. Statist. 29(2), 1958), whose radius has all
64 bits (63 in single precision), so that tails reach 9.4 (9.3) standard deviations: what lies beyond has a probability
of 5e-21 (1e-20) a number, and is missing. A privacy claim takes numbers to be normal, and this is what is left out of
it; times at which numbers are made are not hidden either.
"""

import os
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

_BLOCK = 16_384
"""Numbers of double precision that are made at once: their working arrays stay in the cache."""

_UNIT = 2.0**-64

Words = npt.NDArray[np.uint64]


def cipher(key: bytes) -> Any:
    """Return the encryptor of a key, its counter at 0: a key is used for one keystream alone."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()


@dataclass
class Keystream:
    """The keystream of one key, from its beginning.

    Parameters
    ----------
    seed : int, optional
        Makes the key, for tests; without it the key is the operating system's entropy.
    """

    seed: int | None = None
    _process: int = field(default=0, init=False, repr=False)
    _encryptor: Any = field(default=None, init=False, repr=False)
    _zeros: bytes = field(default=b"", init=False, repr=False)
    _bytes: bytearray = field(default_factory=bytearray, init=False, repr=False)

    def __getstate__(self) -> NoReturn:
        """Refuse to be copied: two sources would make the same noise."""
        raise TypeError("a source of noise can't be copied or stored")

    def words(self, count: int) -> Words:
        """Return the next whole numbers of [0, 2**64), read-only and valid until the next call."""
        if self._process != os.getpid():
            self._start()
        if len(self._zeros) < 8 * count:
            self._zeros, self._bytes = bytes(8 * count), bytearray(8 * count + 15)
        self._encryptor.update_into(memoryview(self._zeros)[: 8 * count], self._bytes)
        found = np.frombuffer(self._bytes, dtype="<u8", count=count)
        found.flags.writeable = False
        return found

    def _start(self) -> None:
        """Take a key; a forked process takes another one, or it would repeat its parent's noise."""
        if self.seed is None or self._encryptor is None:
            key = os.urandom(32) if self.seed is None else sha256(f"noise {self.seed}".encode()).digest()
            self._encryptor = cipher(key)
        self._process = os.getpid()

    def uniform(self, count: int) -> npt.NDArray[np.float64]:
        """Return numbers of [0, 1), each a multiple of 2**-53."""
        found = np.empty(count)
        for start in range(0, count, _BLOCK):
            part = found[start : start + _BLOCK]
            np.multiply(self.words(part.size) >> np.uint64(11), 2.0**-53, out=part)
        return found

    def normal(self, count: int, dtype: type[np.floating] = np.float64) -> npt.NDArray[Any]:
        """Return standard normal numbers.

        Parameters
        ----------
        count : int
        dtype : type, optional
            float32 takes less than half the time; tails reach 9.3 standard deviations, and numbers have 24 bits.

        Returns
        -------
        ndarray of `dtype`, shape (count,)
        """
        found: npt.NDArray[Any] = np.empty(count + count % 2, dtype=dtype)
        fill, block = (_pairs, _BLOCK) if dtype is np.float64 else (_pairs32, 2 * _BLOCK)
        for start in range(0, found.size, block):
            fill(self, found[start : start + block])
        return found[:count]


def _radii(words: Words) -> npt.NDArray[np.float64]:
    radius = words.astype(np.float64)
    radius += 1.0  # of (0, 1], where small numbers keep all their bits
    radius *= _UNIT
    np.log(radius, out=radius)
    radius *= -2.0
    return np.sqrt(radius, out=radius)


def _pairs(source: Keystream, out: npt.NDArray[np.float64]) -> None:
    """Fill `out` with normal numbers.

    With ``t = tan(theta / 2)`` the cosine of theta is ``2 / (1 + t^2) - 1`` and its sine ``2 t / (1 + t^2)``: one
    function that NumPy computes on whole vectors takes the place of two that it doesn't.
    """
    half = out.size // 2
    words = source.words(out.size)
    radius = _radii(words[:half])
    tangent = words[half:].astype(np.float64)
    tangent *= np.pi * _UNIT
    np.tan(tangent, out=tangent)
    scale = tangent * tangent
    scale += 1.0
    np.divide(2.0, scale, out=scale)
    tangent *= scale
    np.multiply(radius, tangent, out=out[half:])
    scale -= 1.0
    np.multiply(radius, scale, out=out[:half])


def _pairs32(source: Keystream, out: npt.NDArray[np.float32]) -> None:
    """Fill `out` with normal numbers of single precision; radii have 63 bits, which NumPy turns into floats faster."""
    half = out.size // 2
    words = source.words(half + (half + 1) // 2)
    share = (words[:half] >> np.uint64(1)).view(np.int64).astype(np.float64)
    share += 1.0
    share *= 2 * _UNIT
    radius = np.log(share, out=share).astype(np.float32)
    radius *= np.float32(-2.0)
    np.sqrt(radius, out=radius)
    angle = (words[half:].view(np.uint32)[:half] >> np.uint32(8)).view(np.int32).astype(np.float32)
    angle *= np.float32(2 * np.pi * 2.0**-24)
    cosines, sines = out[:half], out[half:]
    np.cos(angle, out=cosines)
    np.sin(angle, out=sines)
    cosines *= radius
    sines *= radius
