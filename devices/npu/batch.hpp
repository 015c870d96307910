// SPDX-License-Identifier: Apache-2.0
// Batches that the device takes apart into inferences of one item.
#pragma once

#include <cstdint>
#include <memory>

#include <tenon/devices/npu/settings.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::npu_device {

struct Debatched {
  std::shared_ptr<const Model> model;  ///< For the compiler: of one item, or the model as it was.
  std::uint32_t batch = 0;             ///< As ModelInfo::batch.
};

/// PLUGIN takes the batch apart, COMPILER leaves it to the driver. AUTO takes it apart where the model says that axis
/// 0 of every input is a batch (layout N...) and its extent is not known; the driver's compiler needs bounds.
/// @errors kInvalidArgument "Cannot debatch a model": PLUGIN, and the model has no common batch at axis 0.
Debatched debatch(const std::shared_ptr<const Model>& model, BatchMode mode);

}  // namespace tenon::inline v1::npu_device
