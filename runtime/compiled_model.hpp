// SPDX-License-Identifier: Apache-2.0
// A model compiled for a device.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/context.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/runtime/infer_request.hpp>
#include <tenon/runtime/property.hpp>
#include <tenon/runtime/remote_context.hpp>

namespace tenon {
inline namespace v1 {

class Ledger;
class ModelState;
struct FrameGeometry;

/// OpenVINO's CompiledModel. A handle: copies refer to the same model, which lives as long as any handle or request.
/// @thread all members from any thread.
class TENON_API CompiledModel {
 public:
  CompiledModel() = default;

  /// The model as the device executes it. The CPU's nodes are exec_model_info::ExecutionNode: the steps that run, after
  /// fusion, with the layouts, kernels and bytes that graph/exec_model_info.hpp names; of a model whose shapes move,
  /// those of the inference that ended last.
  /// @cost builds a new model at every call. @errors kUnimplemented: the device cannot tell (NPU);
  ///       kFailedPrecondition: the shapes move, and nothing has run yet
  std::shared_ptr<const Model> get_runtime_model() const;
  /// Ports carry names, types and shapes, no weights. The forms without argument require exactly one. @errors kNotFound
  const std::vector<Output<const Node>>& inputs() const;
  const Output<const Node>& input() const;
  const Output<const Node>& input(std::size_t index) const;
  const Output<const Node>& input(const std::string& tensor_name) const;
  const std::vector<Output<const Node>>& outputs() const;
  const Output<const Node>& output() const;
  const Output<const Node>& output(std::size_t index) const;
  const Output<const Node>& output(const std::string& tensor_name) const;

  InferRequest create_infer_request();

  /// The mapping of a frame of `info` to input `tensor_name` (the first if empty). It maps results back to the picture.
  FrameGeometry frame_geometry(const FrameInfo& info, const std::string& tensor_name = {}) const;

  /// Requirements on memory that the CPU fills and the device reads in place, for example a decoder's pool:
  /// `video.use_pool(compiled.requirements())`. @cost none; @thread any.
  Requirements requirements() const;
  /// The context in which tensors must lie for the device to use them in place. With requirements() it is the model's Party in
  /// Router::plan().
  /// The host's context for devices that compute on host memory; get_context() has what only remote memory has.
  Context memory_context() const;

  /// @errors kUnimplemented when the device lacks the capability EXPORT_IMPORT
  void export_model(std::ostream& stream);
  void set_property(const AnyMap& properties);
  template <typename... Properties>
  util::EnableIfAllStringAny<void, Properties...> set_property(Properties&&... properties) {
    set_property(AnyMap{std::pair<std::string, Any>(std::forward<Properties>(properties))...});
  }
  Any get_property(const std::string& name) const;
  template <typename T, PropertyMutability M>
  T get_property(const Property<T, M>& property) const {
    return get_property(property.name()).template as<T>();
  }
  void release_memory();
  /// @errors kUnimplemented: a device without remote memory, as in OpenVINO
  RemoteContext get_context() const;

  bool operator!() const noexcept { return !state_; }
  explicit operator bool() const noexcept { return state_ != nullptr; }

 private:
  friend class Core;
  friend class InferRequest;
  explicit CompiledModel(std::shared_ptr<ModelState> state);
  ModelState& state() const;
  std::shared_ptr<ModelState> state_;
};

}  // namespace v1
}  // namespace tenon
