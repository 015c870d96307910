// SPDX-License-Identifier: Apache-2.0
// An executable compiled graph: its blob and, while it is loaded, its plans.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/drivers/npu/compiler/arguments.hpp>
#include <tenon/drivers/npu/compiler/native_blob.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::npu::compiler {

/// A plan for one set of input shapes; no plan if shapes depend on values.
struct ProgramVariant {
  std::vector<Shape> input_shapes;
  std::shared_ptr<const engine::Plan> plan;
  std::shared_ptr<const Model> model;  ///< Run in stages if there is no plan.
};

/// Shared by all runs. @thread all members from any thread.
class Program {
 public:
  /// Parses and verifies the blob; creates no plan. @errors as read_native_blob.
  explicit Program(const Tensor& bytes);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const std::vector<Argument>& arguments() const { return blob_.interface.arguments; }
  /// Computes initial values of states: Interface::initialisers.
  const std::shared_ptr<const Model>& initialisers() const { return blob_.interface.initialisers; }
  const Settings& settings() const { return blob_.settings; }
  /// How long it would take on the NPU that it was compiled for.
  const Timing& timing() const { return blob_.timing; }
  std::chrono::nanoseconds estimated() const { return estimated_; }
  const Tensor& bytes() const { return blob_.bytes; }
  std::size_t input_count() const { return input_count_; }
  std::size_t output_count() const { return output_count_; }
  const std::string& name() const { return blob_.payload.name; }

  /// Creates the plan (if shapes are static), packs or maps its constants; a second call does nothing.
  /// @errors kFailedPrecondition: the blob was compiled for another processor.
  void load();
  bool is_loaded() const;
  /// Drops the plans, except those that runs still use. load() brings them back.
  void unload();
  /// @param shapes  Those of the inputs; ignored if shapes are static. Compiled on first use; the latest few are cached.
  std::shared_ptr<const ProgramVariant> variant_for(const std::vector<Shape>& shapes);
  bool is_static() const { return is_static_; }
  /// Whether the model has a loop, at any depth, whose trip count is known only at run time.
  bool rounds_depend_on_data() const { return rounds_depend_on_data_; }
  /// Bytes of constants that the loaded plans hold beside the blob.
  std::size_t constant_bytes() const;

 private:
  std::shared_ptr<const ProgramVariant> make_variant(const std::vector<Shape>& shapes) const;

  NativeBlob blob_;
  std::chrono::nanoseconds estimated_{0};
  bool is_static_ = false;
  bool rounds_depend_on_data_ = false;
  std::size_t input_count_ = 0, output_count_ = 0;
  mutable std::mutex mutex_;
  bool is_loaded_ = false;
  std::list<std::shared_ptr<const ProgramVariant>> variants_;  ///< Latest first.
};

}  // namespace tenon::npu::compiler
