// SPDX-License-Identifier: Apache-2.0
// Models that take frames: OpenVINO has no operation that reads a decoder's planes in one pass, so the input stages run
// on the CPU engine, straight into the tensors that OpenVINO reads.
#pragma once

#include <memory>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::openvino_device {

/// One input stage of a model, compiled.
class FrameStage {
 public:
  virtual ~FrameStage() = default;
  /// One request's use of it.
  class Run {
   public:
    virtual ~Run() = default;
    /// Planes with any strides, where they lie.
    virtual void bind_plane(std::size_t plane, const Tensor& tensor) = 0;
    /// What the stage writes and OpenVINO reads.
    virtual const Tensor& output() const = 0;
    virtual void run() = 0;
  };
  virtual std::unique_ptr<Run> make_run() const = 0;
};

/// Where an input of the model goes.
struct InputRoute {
  int stage = -1;         ///< Which stage reads it; -1: OpenVINO itself.
  std::size_t index = 0;  ///< Plane of the stage, or input of OpenVINO's model.
};

/// A model without input stages, and the stages before it.
struct SplitModel {
  std::shared_ptr<const Model> rest;
  std::vector<InputRoute> inputs;
  std::vector<std::shared_ptr<const FrameStage>> stages;
  std::vector<std::size_t> stage_targets;  ///< The input of `rest` that each stage fills.
};

/// @errors kUnimplemented: the model has input stages and this build has no engine for them.
SplitModel split(const std::shared_ptr<const Model>& model);

}  // namespace tenon::inline v1::openvino_device
