// SPDX-License-Identifier: Apache-2.0
// An inference in a trace: its own span, then its nodes' within.
#include <tenon/runtime/request/inference_trace.hpp>

#include <tenon/core/trace_name.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon {
inline namespace v1 {

void InferenceTrace::record(const InferRequestImpl& request) const noexcept {
  try {
    Trace::record("inference", "request", begin_, std::chrono::steady_clock::now());
    for (const ProfilingInfo& node : request.profiling_info()) {
      if (node.status != ProfilingInfo::Status::EXECUTED) continue;
      const auto begin = begin_ + node.start_time;
      // The text with the kernel, too: what one looks for in a trace is why a node is slow.
      Trace::record(trace_name(node.node_name + " (" + node.exec_type + ")"), trace_name(node.node_type), begin,
                    begin + node.real_time);
    }
  } catch (...) {  // Not measured: the inference's own span is all there is.
  }
}

}  // namespace v1
}  // namespace tenon
