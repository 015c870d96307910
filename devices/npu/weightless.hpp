// SPDX-License-Identifier: Apache-2.0
// Compiled models without their weights: the model in the form for the driver's compiler, and the locations of its
// constants.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <tenon/graph/model.hpp>

namespace tenon::inline v1::npu_device {

/// Source of an import's weights. If neither is given, a blob that needs weights is refused.
struct WeightsSource {
  std::shared_ptr<const Model> model;  ///< Value of MODEL_PTR; its constants are found by content.
  /// Value of WEIGHTS_PATH. A model's file (.xml, .onnx) is used like `model`; any other file is a weights file, read
  /// at the offsets that the constants had when the model was read from it.
  std::string path;
};

/// @param config  the options given to the driver's compiler.
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
