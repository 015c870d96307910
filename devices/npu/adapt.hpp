// SPDX-License-Identifier: Apache-2.0
// A model as the compiler of any driver takes it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tenon/devices/npu/batch.hpp>
#include <tenon/devices/npu/hardware.hpp>
#include <tenon/devices/npu/model_info.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::npu_device {

/// The model itself, or a copy in which
///  - plain operations stand for input stages, unless the driver announces that it knows those (kInputStageExtension);
///  - inputs and outputs of static shape and more dimensions than the graph extension can name (5) are passed with the
///    outer ones as one, and reshaped inside: the bytes are the same.
std::shared_ptr<const Model> adapted(const std::shared_ptr<const Model>& model, const Npu& npu);

/// What the driver compiles of a model: its batch taken apart where that is asked for, its states begun as arguments,
/// adapted. @param info  batch, variables and initialisers are filled in.
std::shared_ptr<const Model> for_driver(const std::shared_ptr<const Model>& model, BatchMode mode, const Npu& npu,
                                        ModelInfo& info);

/// The model's own nodes among those of its adapted form that the driver takes: a node that several stand for is there
/// when all of them are. @param layers  friendly names.
std::vector<std::string> own_layers(const Model& model, const Model& adapted, const std::vector<std::string>& layers);

}  // namespace tenon::inline v1::npu_device
