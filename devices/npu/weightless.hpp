// SPDX-License-Identifier: Apache-2.0
// Compiled models without their weights: the model as the driver's compiler takes it, and where its constants are.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <tenon/graph/model.hpp>

namespace tenon::inline v1::npu_device {

/// Where an import finds weights. Neither given: a blob that needs them is refused.
struct WeightsSource {
  std::shared_ptr<const Model> model;  ///< Of MODEL_PTR: found by content.
  /// Of WEIGHTS_PATH: a model's file (.xml, .onnx) as above; any other is a weights file, read at the offsets that the
  /// constants had when the model was read from it.
  std::string path;
};

/// @param config  what the driver's compiler was told.
/// @cost one hash of each constant that is left out.
std::string write_weightless(const Model& model, const std::map<std::string, std::string>& config);

struct Weightless {
  std::shared_ptr<Model> model;  ///< Its constants are views of the source's memory.
  std::map<std::string, std::string> config;
};
/// Every constant is compared with its hash. @param bytes  verified; read during the call only.
/// @errors kFailedPrecondition: no weights given, or those of another model; kNotFound: no such file;
///         kDataLoss: damaged.
Weightless read_weightless(std::string_view bytes, const WeightsSource& source);

}  // namespace tenon::inline v1::npu_device
