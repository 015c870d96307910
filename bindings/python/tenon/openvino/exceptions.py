# SPDX-License-Identifier: Apache-2.0
"""Exceptions of OpenVINO's package. The runtime raises tenon.errors, which are RuntimeError as OpenVINO's are."""


class OVError(Exception):
    """Base of these."""


class UserInputError(OVError):
    """A value that a function cannot take."""


class OVTypeError(OVError, TypeError):
    """A value of a type that a function cannot take."""
