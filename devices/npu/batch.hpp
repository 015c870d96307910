// SPDX-License-Identifier: Apache-2.0
// Batches that the device splits into inferences of one item.
#pragma once

#include <cstdint>
#include <memory>

#include <tenon/devices/npu/settings.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::npu_device {

struct Debatched {
  std::shared_ptr<const Model> model;  ///< For the compiler: of one item, or the original.
  std::uint32_t batch = 0;             ///< As ModelInfo::batch.
};

/// PLUGIN splits the batch, COMPILER leaves it to the driver. AUTO splits it if a layout says that axis 0 is the batch
/// (N...) and its extent is unknown, since the driver's compiler needs bounds.
/// @errors kInvalidArgument "Cannot debatch a model": PLUGIN, but the model has no common batch at axis 0.
Debatched debatch(const std::shared_ptr<const Model>& model, BatchMode mode);

}  // namespace tenon::inline v1::npu_device
