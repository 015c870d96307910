// SPDX-License-Identifier: Apache-2.0
// The time that each executed node took.
#pragma once

#include <chrono>
#include <string>

#include "openvino/core/core_visibility.hpp"

namespace ov {

struct ProfilingInfo {
  enum class Status { NOT_RUN, OPTIMIZED_OUT, EXECUTED };
  Status status = Status::NOT_RUN;
  std::chrono::microseconds real_time{0};
  std::chrono::microseconds cpu_time{0};
  std::string node_name;
  std::string exec_type;
  std::string node_type;
  std::chrono::microseconds start_time{0};
};

}  // namespace ov
