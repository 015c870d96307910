// SPDX-License-Identifier: Apache-2.0
// How long a model would take on an NPU: as a table, as JSON, and as a page with a plot.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include <tenon/graph/model.hpp>
#include <tenon/planning/npu_estimate.hpp>

namespace tenon::tool {

class NpuTimes {
 public:
  /// @param platform  "4000", or with a number of tiles "4000:2"; without: as many as a single inference uses by default.
  /// @errors kInvalidArgument: no such platform; as estimate_on_npu()
  NpuTimes(const Model& model, const std::string& platform);

  std::string to_text() const;
  nlohmann::json to_json() const;
  /// A page, with the time of each layer's computing and transfers.
  std::string to_html(const std::string& model) const;

 private:
  std::string title() const;

  const NpuPlatform* platform_ = nullptr;
  int tiles_ = 0;
  planning::NpuEstimate estimate_;
};

}  // namespace tenon::tool
