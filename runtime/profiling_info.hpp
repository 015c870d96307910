// SPDX-License-Identifier: Apache-2.0
// The time that each executed node of a request took.
#pragma once

#include <chrono>
#include <string>

namespace tenon {
inline namespace v1 {

/// One node of the executed graph, in order of execution.
struct ProfilingInfo {
  enum class Status {
    NOT_RUN,        ///< Was not executed.
    OPTIMIZED_OUT,  ///< Fused into another node or removed.
    EXECUTED,
  };
  Status status = Status::NOT_RUN;
  std::chrono::microseconds real_time{0};   ///< Wall time of the node.
  std::chrono::microseconds cpu_time{0};    ///< Host time of the node; equals real_time on synchronous devices.
  std::string node_name;                    ///< Friendly name in the model.
  std::string exec_type;                    ///< Kernel that ran, as the device names it.
  std::string node_type;                    ///< Operation type in the model.
  std::chrono::microseconds start_time{0};  ///< Since the start of the inference.
};

}  // namespace v1
}  // namespace tenon
