"""Identifiers: UUIDv7, ordered by time, from a clock and randomness given as arguments."""

import secrets
import uuid
from datetime import datetime


def uuid7(now: datetime, random_bits: int | None = None) -> str:
    """Return a UUIDv7 string (RFC 9562, section 5.7).

    Args:
        now: time to encode, in milliseconds since the epoch.
        random_bits: 74 random bits; drawn from the system when None.
    """
    bits = secrets.randbits(74) if random_bits is None else random_bits
    timestamp_ms = int(now.timestamp() * 1000) & ((1 << 48) - 1)
    value = timestamp_ms << 80
    value |= 0x7 << 76
    value |= ((bits >> 62) & 0xFFF) << 64
    value |= 0b10 << 62
    value |= bits & ((1 << 62) - 1)
    return str(uuid.UUID(int=value))
