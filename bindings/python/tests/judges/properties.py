# SPDX-License-Identifier: Apache-2.0
"""Properties and hints, set and read in the ways that programs use."""
import numpy as np

import openvino as ov
import openvino.opset8 as ops
import openvino.properties as props
import openvino.properties.device as device
import openvino.properties.hint as hints
import openvino.properties.intel_auto as intel_auto
import openvino.properties.intel_cpu as intel_cpu
import openvino.properties.log as log
import openvino.properties.streams as streams

print(props.enable_profiling(), props.num_streams(), hints.performance_mode(), device.full_name(), log.level(), streams.num(), intel_cpu.denormals_optimization())
print(hints.performance_mode == "PERFORMANCE_HINT", props.cache_dir("x")[0], isinstance(props.cache_dir, str), intel_auto.schedule_policy())
print(hints.PerformanceMode.LATENCY.name, str(hints.PerformanceMode.THROUGHPUT), hints.ExecutionMode.ACCURACY.name, hints.Priority.HIGH.name, log.Level.ERR.name)
print(hints.PerformanceMode.LATENCY == hints.PerformanceMode.LATENCY, hints.PerformanceMode.LATENCY != hints.PerformanceMode.THROUGHPUT, device.Type.INTEGRATED.name)
print(props.CacheMode.OPTIMIZE_SPEED.name, props.WorkloadType.EFFICIENT.name, hints.SchedulingCoreType.ANY_CORE.name, device.Capability.FP32)

core = ov.Core()
print("CPU" in core.available_devices, core.get_property("CPU", props.available_devices))
print(isinstance(core.get_property("CPU", device.full_name), str), "FP32" in core.get_property("CPU", device.capabilities))
supported = core.get_property("CPU", "SUPPORTED_PROPERTIES")
for key in ("PERFORMANCE_HINT", "NUM_STREAMS", "INFERENCE_NUM_THREADS", "PERF_COUNT", "INFERENCE_PRECISION_HINT", "EXECUTION_MODE_HINT", "DEVICE_ID"):
    print(key, supported[key])
core.set_property("CPU", {hints.performance_mode: hints.PerformanceMode.THROUGHPUT})
print(core.get_property("CPU", hints.performance_mode) == hints.PerformanceMode.THROUGHPUT, core.get_property("CPU", "PERFORMANCE_HINT").name)
core.set_property("CPU", {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1"})
print(core.get_property("CPU", "PERFORMANCE_HINT").name, core.get_property("CPU", props.num_streams))
core.set_property(("CPU"), {props.inference_num_threads: 2})
print(core.get_property("CPU", "INFERENCE_NUM_THREADS"))

x = ops.parameter([1, 4], np.float32, name="x")
model = ov.Model([ops.relu(x)], [x], "properties")
config = {hints.performance_mode: hints.PerformanceMode.LATENCY, hints.inference_precision: ov.Type.f32, props.enable_profiling: True,
          hints.execution_mode: hints.ExecutionMode.ACCURACY, hints.num_requests: 2}
compiled = core.compile_model(model, "CPU", config)
print(compiled.get_property(hints.performance_mode) == "LATENCY", compiled.get_property(hints.inference_precision) == ov.Type.f32, compiled.get_property(props.enable_profiling) in (True, "YES"))
print(compiled.get_property(props.model_name), compiled.get_property("EXECUTION_DEVICES"), compiled.get_property(props.optimal_number_of_infer_requests) >= 1)
print(compiled.get_property(hints.execution_mode) in ("ACCURACY", hints.ExecutionMode.ACCURACY), compiled.get_property(hints.num_requests))
request = compiled.create_infer_request()
request.infer([np.float32([[1, -1, 2, -2]])])
profile = request.get_profiling_info()
print(len(profile) > 0, any(each.status == ov.ProfilingInfo.Status.EXECUTED for each in profile), all(each.real_time.total_seconds() >= 0 for each in profile))
auto = core.compile_model(model, "AUTO", {hints.performance_mode: hints.PerformanceMode.CUMULATIVE_THROUGHPUT})
print(auto([np.float32([[1, -1, 2, -2]])])[0].tolist(), "CPU" in auto.get_property(props.execution_devices))
for call in (lambda: core.get_property("CPU", "NO_SUCH"), lambda: core.set_property("CPU", {"NO_SUCH": 1}), lambda: core.compile_model(model, "CPU", {"NO_SUCH": "x"}),
             lambda: core.compile_model(model, "CPU", {"NUM_STREAMS": "many"})):
    try:
        call()
        print("taken")
    except RuntimeError:
        print("RuntimeError")
version = core.get_versions("CPU")["CPU"]
print(isinstance(version.build_number, str), isinstance(version.description, str), ov.get_version().partition("-")[0], ov.__version__ == ov.get_version())
