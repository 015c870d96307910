# SPDX-License-Identifier: Apache-2.0
"""The version as OpenVINO's programs read it: that of the interface first, Tenon's own behind it."""

from tenon import __version__ as _tenon

INTERFACE = "2026.4.1"


def get_version() -> str:
    """The release of OpenVINO whose names these are, "-tenon-", and the release of Tenon."""
    return f"{INTERFACE}-tenon-{_tenon}"
