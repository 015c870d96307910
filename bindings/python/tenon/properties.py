# SPDX-License-Identifier: Apache-2.0
"""Properties by name, as OpenVINO's Python package has them.

Each is a function: with a value it gives the pair that a dict of properties is made of, without one its key:

    core.compile_model(model, "CPU", dict([properties.hint.performance_mode("LATENCY")]))
    core.get_property("CPU", properties.hint.performance_mode())
"""

from __future__ import annotations

from types import SimpleNamespace as _Namespace
from typing import Any, Union

from . import _enums
from ._enums import CacheMode, CompatibilityCheck, WorkloadType, ZeroCopy

__all__ = ["CacheMode", "CompatibilityCheck", "WorkloadType", "ZeroCopy", "hint", "device", "log", "streams", "limit"]


class Property(str):
    """The key of a property: a str that can be called."""

    __slots__ = ()

    def __call__(self, value: Any = None) -> Union[str, tuple[str, Any]]:
        return str(self) if value is None else (str(self), value)


class Num(int):
    """Numbers of streams; AUTO and NUMA leave the number to the device."""

    AUTO: "Num"
    NUMA: "Num"

    def to_integer(self) -> int:
        return int(self)


Num.AUTO, Num.NUMA = Num(-1), Num(-2)

supported_properties = Property("SUPPORTED_PROPERTIES")
available_devices = Property("AVAILABLE_DEVICES")
model_name = Property("NETWORK_NAME")
optimal_number_of_infer_requests = Property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")
zero_copy = Property("TENON_ZERO_COPY")
enable_profiling = Property("PERF_COUNT")
caching_properties = Property("CACHING_PROPERTIES")
cache_size_limit = Property("TENON_CACHE_SIZE_LIMIT")
cache_dir = Property("CACHE_DIR")
cache_path = Property("CACHE_PATH")
loaded_from_cache = Property("LOADED_FROM_CACHE")
cache_model_path = Property("CACHE_MODEL_PATH")
cache_blob_id = Property("CACHE_BLOB_ID")
workload_type = Property("WORKLOAD_TYPE")
cache_mode = Property("CACHE_MODE")
enable_weightless = Property("ENABLE_WEIGHTLESS")
cache_encryption_callbacks = Property("CACHE_ENCRYPTION_CALLBACKS")
range_for_streams = Property("RANGE_FOR_STREAMS")
optimal_batch_size = Property("OPTIMAL_BATCH_SIZE")
max_batch_size = Property("MAX_BATCH_SIZE")
auto_batch_timeout = Property("AUTO_BATCH_TIMEOUT")
range_for_async_infer_requests = Property("RANGE_FOR_ASYNC_INFER_REQUESTS")
force_tbb_terminate = Property("FORCE_TBB_TERMINATE")
enable_mmap = Property("ENABLE_MMAP")
num_streams = Property("NUM_STREAMS")
inference_num_threads = Property("INFERENCE_NUM_THREADS")
compilation_num_threads = Property("COMPILATION_NUM_THREADS")
execution_devices = Property("EXECUTION_DEVICES")
weights_path = Property("WEIGHTS_PATH")
key_cache_precision = Property("KEY_CACHE_PRECISION")
value_cache_precision = Property("VALUE_CACHE_PRECISION")
key_cache_group_size = Property("KEY_CACHE_GROUP_SIZE")
value_cache_group_size = Property("VALUE_CACHE_GROUP_SIZE")
runtime_requirements = Property("RUNTIME_REQUIREMENTS")
compatibility_check = Property("COMPATIBILITY_CHECK")

hint = _Namespace(
    Priority=_enums.Priority,
    PerformanceMode=_enums.PerformanceMode,
    SchedulingCoreType=_enums.SchedulingCoreType,
    ModelDistributionPolicy=_enums.ModelDistributionPolicy,
    ExecutionMode=_enums.ExecutionMode,
    inference_precision=Property("INFERENCE_PRECISION_HINT"),
    model_priority=Property("MODEL_PRIORITY"),
    performance_mode=Property("PERFORMANCE_HINT"),
    scheduling_core_type=Property("SCHEDULING_CORE_TYPE"),
    model_distribution_policy=Property("MODEL_DISTRIBUTION_POLICY"),
    enable_cpu_pinning=Property("ENABLE_CPU_PINNING"),
    enable_cpu_reservation=Property("ENABLE_CPU_RESERVATION"),
    enable_hyper_threading=Property("ENABLE_HYPER_THREADING"),
    num_requests=Property("PERFORMANCE_HINT_NUM_REQUESTS"),
    model=Property("MODEL_PTR"),
    allow_auto_batching=Property("ALLOW_AUTO_BATCHING"),
    execution_mode=Property("EXECUTION_MODE_HINT"),
    dynamic_quantization_group_size=Property("DYNAMIC_QUANTIZATION_GROUP_SIZE"),
    kv_cache_precision=Property("KV_CACHE_PRECISION"),
    activations_scale_factor=Property("ACTIVATIONS_SCALE_FACTOR"),
    compiled_blob=Property("COMPILED_BLOB"),
)
device = _Namespace(
    Type=_enums.DeviceType,
    id=Property("DEVICE_ID"),
    priorities=Property("MULTI_DEVICE_PRIORITIES"),
    properties=Property("DEVICE_PROPERTIES"),
    full_name=Property("FULL_DEVICE_NAME"),
    architecture=Property("DEVICE_ARCHITECTURE"),
    uuid=Property("DEVICE_UUID"),
    luid=Property("DEVICE_LUID"),
    type=Property("DEVICE_TYPE"),
    gops=Property("DEVICE_GOPS"),
    pci_info=Property("DEVICE_PCI_INFO"),
    thermal=Property("DEVICE_THERMAL"),
    capabilities=Property("OPTIMIZATION_CAPABILITIES"),
    capability=_Namespace(
        FP32="FP32", BF16="BF16", FP16="FP16", INT8="INT8", INT16="INT16", BIN="BIN", WINOGRAD="WINOGRAD",
        EXPORT_IMPORT="EXPORT_IMPORT", HOST_CPU="HOST_CPU",
    ),
)
log = _Namespace(Level=_enums.Level, level=Property("LOG_LEVEL"))
streams = _Namespace(num=Property("NUM_STREAMS"), Num=Num)
limit = _Namespace(
    nodes=Property("TENON_LIMIT_NODES"),
    depth=Property("TENON_LIMIT_DEPTH"),
    bytes=Property("TENON_LIMIT_BYTES"),
    compile_seconds=Property("TENON_LIMIT_COMPILE_SECONDS"),
    infer_seconds=Property("TENON_LIMIT_INFER_SECONDS"),
)
