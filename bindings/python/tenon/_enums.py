# SPDX-License-Identifier: Apache-2.0
"""Enumerations of properties. Their values are the texts that devices take, so a member compares equal to its text."""

from __future__ import annotations

from enum import Enum
from typing import Any


class _Text(str, Enum):
    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)  # In every version of Python.


class Priority(_Text):
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    DEFAULT = "MEDIUM"


class PerformanceMode(_Text):
    LATENCY = "LATENCY"
    THROUGHPUT = "THROUGHPUT"
    CUMULATIVE_THROUGHPUT = "CUMULATIVE_THROUGHPUT"


class SchedulingCoreType(_Text):
    ANY_CORE = "ANY_CORE"
    PCORE_ONLY = "PCORE_ONLY"
    ECORE_ONLY = "ECORE_ONLY"


class ModelDistributionPolicy(_Text):
    TENSOR_PARALLEL = "TENSOR_PARALLEL"
    PIPELINE_PARALLEL = "PIPELINE_PARALLEL"


class ExecutionMode(_Text):
    PERFORMANCE = "PERFORMANCE"
    ACCURACY = "ACCURACY"


class Level(_Text):
    NO = "LOG_NONE"
    ERR = "LOG_ERROR"
    WARNING = "LOG_WARNING"
    INFO = "LOG_INFO"
    DEBUG = "LOG_DEBUG"
    TRACE = "LOG_TRACE"


class WorkloadType(_Text):
    DEFAULT = "DEFAULT"
    EFFICIENT = "EFFICIENT"


class CacheMode(_Text):
    OPTIMIZE_SIZE = "optimize_size"
    OPTIMIZE_SPEED = "optimize_speed"


class DeviceType(_Text):
    INTEGRATED = "integrated"
    DISCRETE = "discrete"


class CompatibilityCheck(_Text):
    NOT_APPLICABLE = "NOT_APPLICABLE"
    SUPPORTED = "SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"


class ZeroCopy(_Text):
    """What happens where a device cannot use memory in place: an error, or a copy that the ledger books."""

    REQUIRE = "require"
    PREFER = "prefer"
    ALLOW = "allow"


_BY_KEY = {
    "MODEL_PRIORITY": Priority,
    "PERFORMANCE_HINT": PerformanceMode,
    "SCHEDULING_CORE_TYPE": SchedulingCoreType,
    "EXECUTION_MODE_HINT": ExecutionMode,
    "LOG_LEVEL": Level,
    "WORKLOAD_TYPE": WorkloadType,
    "CACHE_MODE": CacheMode,
    "DEVICE_TYPE": DeviceType,
    "COMPATIBILITY_CHECK": CompatibilityCheck,
    "TENON_ZERO_COPY": ZeroCopy,
}


def from_text(key: str, value: Any) -> Any:
    """The member of the property's enumeration; other values as they are."""
    kind = _BY_KEY.get(key)
    if kind is None or not isinstance(value, str):
        return value
    try:
        return kind(value)
    except ValueError:
        return value
