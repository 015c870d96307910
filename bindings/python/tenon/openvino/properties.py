# SPDX-License-Identifier: Apache-2.0
"""Properties by name: tenon.properties, in OpenVINO's modules, with those of its devices."""

from __future__ import annotations

from enum import Enum
from typing import Any

from tenon import _enums
from tenon import properties as _all
from tenon.properties import Property

from ._modules import module_of, refuse

__path__: list = []  # Its submodules are made here.

globals().update({name: value for name, value in vars(_all).items() if isinstance(value, (Property, type)) and name[0] != "_" and name not in ("Property", "Num")})

# Properties of devices that are not among Tenon's own: a device that lacks one says so when it is asked.
_KEYS = {
    "intel_auto": "device_bind_buffer devices_utilization_threshold enable_runtime_fallback enable_startup_fallback low_power_device perf_curve_table "
                  "schedule_policy",
    "intel_cpu": "denormals_optimization=CPU_DENORMALS_OPTIMIZATION sparse_weights_decompression_rate=CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE tbb_partitioner",
    "intel_gpu": "device_max_alloc_mem_size=GPU_DEVICE_MAX_ALLOC_MEM_SIZE device_total_mem_size=GPU_DEVICE_TOTAL_MEM_SIZE "
                 "disable_winograd_convolution=GPU_DISABLE_WINOGRAD_CONVOLUTION enable_loop_unrolling=GPU_ENABLE_LOOP_UNROLLING "
                 "execution_units_count=GPU_EXECUTION_UNITS_COUNT memory_statistics=GPU_MEMORY_STATISTICS uarch_version=GPU_UARCH_VERSION",
    "intel_gpu.hint": "available_device_mem=AVAILABLE_DEVICE_MEM_SIZE enable_large_allocations=GPU_ENABLE_LARGE_ALLOCATIONS "
                      "enable_lora_operation=GPU_ENABLE_LORA_OPERATION host_task_priority=GPU_HOST_TASK_PRIORITY queue_priority=GPU_QUEUE_PRIORITY "
                      "queue_throttle=GPU_QUEUE_THROTTLE",
    "intel_npu": "bypass_umd_caching compilation_mode_params compiler_dynamic_quantization compiler_type compiler_version defer_weights_load "
                 "device_alloc_mem_size device_total_mem_size disable_idle_memory_prunning driver_version enable_strides_for max_tiles platform "
                 "qdq_optimization qdq_optimization_aggressive run_inferences_sequentially tiles turbo",
}
_ENUMS: dict[str, dict[str, Any]] = {
    "intel_auto": {"SchedulePolicy": {"ROUND_ROBIN": "ROUND_ROBIN", "DEVICE_PRIORITY": "DEVICE_PRIORITY", "DEFAULT": "DEVICE_PRIORITY"}},
    "intel_cpu": {"TbbPartitioner": {"STATIC": "STATIC", "AUTO": "AUTO"}},
    "intel_gpu.hint": {"ThrottleLevel": {"LOW": "LOW", "MEDIUM": "MEDIUM", "HIGH": "HIGH", "DEFAULT": "MEDIUM"}},
    "intel_npu": {"CompilerType": {"DRIVER": "DRIVER", "PLUGIN": "PLUGIN", "PREFER_PLUGIN": "PREFER_PLUGIN"}},
}
_TEXTS = {
    "device": {"Capability": "BF16 BIN EXPORT_IMPORT FP16 FP32 INT16 INT8 WINOGRAD"},
    "intel_gpu": {"CapabilityGPU": "HW_MATMUL USM_MEMORY", "MemoryType": "buffer surface"},
}
_OF_TENON = {"hint": _all.hint, "device": _all.device, "log": _all.log, "streams": _all.streams, "limit": _all.limit}


def _made(name: str) -> dict:
    names: dict = dict(vars(_OF_TENON[name])) if name in _OF_TENON else {}
    names.pop("capability", None)
    for word in _KEYS.get(name, "").split():
        own, _, key = word.partition("=")
        names[own] = Property(key or ("NPU_" if name == "intel_npu" else "") + own.upper())
    for own, members in _ENUMS.get(name, {}).items():
        names[own] = Enum(own, members, type=_enums._Text, module=f"{__name__}.{name}")
    for own, members in _TEXTS.get(name, {}).items():
        names[own] = type(own, (), {member: member for member in members.split()})
    return names


for _name in ("hint", "device", "log", "streams", "limit", "intel_auto", "intel_cpu", "intel_gpu", "intel_gpu.hint", "intel_npu"):
    module_of(f"{__name__}.{_name}", f"Properties of {_name}.", _made(_name))


def __getattr__(name: str) -> Any:
    raise refuse(__name__, name)
