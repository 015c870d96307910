// SPDX-License-Identifier: Apache-2.0
// Adapts a model for the compiler of any driver.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tenon/devices/npu/batch.hpp>  // IWYU pragma: export
#include <tenon/devices/npu/hardware.hpp>
#include <tenon/devices/npu/model_info.hpp>
#include <tenon/devices/npu/settings.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::npu_device {

/// Returns the model itself, or a copy in which
///  - plain operations replace input stages, unless the driver announces those (kInputStageExtension);
///  - static inputs and outputs with more dimensions than the graph extension supports (5) are passed with the outer
///    ones merged, and reshaped inside: the bytes are the same.
std::shared_ptr<const Model> adapted(const std::shared_ptr<const Model>& model, const Npu& npu);

/// The model that the driver compiles: debatched if requested, with its states as arguments, and adapted. @param
/// info  batch, variables and initialisers are filled in.
std::shared_ptr<const Model> for_driver(const std::shared_ptr<const Model>& model, BatchMode mode, const Npu& npu,
                                        ModelInfo& info);

/// The model's own nodes that the driver supports, given the supported nodes of the adapted model. A replaced node is
/// listed if all its replacements are. @param layers  friendly names.
std::vector<std::string> own_layers(const Model& model, const Model& adapted, const std::vector<std::string>& layers);

}  // namespace tenon::inline v1::npu_device
