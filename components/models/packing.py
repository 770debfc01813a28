"""Zip archives whose bytes follow from their content alone."""

from collections.abc import Mapping
from io import BytesIO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can hold."""


def packed(members: Mapping[str, bytes]) -> bytes:
    """Return a zip of `members`, sorted by name, not compressed, without times and owners.

    Parameters
    ----------
    members : mapping of str to bytes
        Content by name in the archive.

    Returns
    -------
    bytes
    """
    buffer = BytesIO()
    with ZipFile(buffer, "w") as target:
        for name in sorted(members):
            member = ZipInfo(name, date_time=EPOCH)
            member.compress_type = ZIP_STORED  # deflate's output differs between versions of zlib
            member.create_system = 3
            member.external_attr = 0o600 << 16
            target.writestr(member, members[name])
    return buffer.getvalue()
