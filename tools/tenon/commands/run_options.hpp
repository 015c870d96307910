// SPDX-License-Identifier: Apache-2.0
// The options of tenon run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/tools/tenon/shared/frame_source.hpp>
#include <tenon/tools/tenon/shared/model_options.hpp>

namespace tenon::tool {

struct RunOptions {
  std::vector<std::string> inputs;
  SourceOptions source;  ///< The options of every input; the name of the input is left empty.
  std::string decode = "cpu", va_node = "/dev/dri/renderD128", transport = "auto";
  std::string model, device = "CPU", save, snapshot, report, ground_truth, trace, model_type, policy = "prefer";
  std::uint64_t max_frames = 0, requests = 0, top_k = 0;
  double confidence = -1, iou = -1, timeout_s = 10;
  bool no_compare = false, quiet = false;
  ModelOptions settings;
};

}  // namespace tenon::tool
