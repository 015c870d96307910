// SPDX-License-Identifier: Apache-2.0
// Models that take frames. OpenVINO has no operation that reads a decoder's planes in one pass, so the CPU engine runs
// the input stages and writes directly to the tensors that OpenVINO reads.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::openvino_device {

/// A compiled input stage of a model.
class FrameStage {
 public:
  virtual ~FrameStage() = default;
  /// Its use by one request.
  class Run {
   public:
    virtual ~Run() = default;
    /// Binds a plane with any strides, in place.
    virtual void bind_plane(std::size_t plane, const Tensor& tensor) = 0;
    /// The tensor that the stage writes and OpenVINO reads.
    virtual const Tensor& output() const = 0;
    virtual void run() = 0;
  };
  virtual std::unique_ptr<Run> make_run() const = 0;
};

/// Where a model input goes.
struct InputRoute {
  int stage = -1;         ///< The stage that reads it; -1: OpenVINO itself.
  std::size_t index = 0;  ///< Plane of the stage, or input of OpenVINO's model.
};

/// A model without its input stages, and these stages.
struct SplitModel {
  std::shared_ptr<const Model> rest;
  std::vector<InputRoute> inputs;
  std::vector<std::shared_ptr<const FrameStage>> stages;
  std::vector<std::size_t> stage_targets;  ///< Each stage's target among the inputs of `rest`.
};

/// @errors kUnimplemented: the model has input stages, but this build has no engine for them.
SplitModel split(const std::shared_ptr<const Model>& model);

}  // namespace tenon::inline v1::openvino_device
