// SPDX-License-Identifier: Apache-2.0
// State that a compiled model shares with its requests: ports, device plans by input format, executor, ledger.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/frame.hpp>  // IWYU pragma: export
#include <tenon/core/ledger.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/router.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/graph/input_stage/geometry.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/partial_shape.hpp>
#include <tenon/runtime/cache/cache.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/device/process_end.hpp>
#include <tenon/runtime/request/executor.hpp>

namespace tenon {
inline namespace v1 {

/// State that outlives Core because compiled models and requests use it.
struct SharedState {
  Ledger ledger{&Ledger::process()};
  Router router;
};

/// A port's data for checks and look-ups, precomputed so that an inference makes no graph calls.
struct PortInfo {
  explicit PortInfo(const Output<const Node>& port);
  const Node* node;
  std::string label;  ///< How messages name it: a tensor name, else the friendly name.
  std::string friendly_name;
  std::vector<std::string> names;
  ElementType type;
  PartialShape shape;
  Shape static_shape;
  bool is_static;
  /// Whether the port accepts the shape.
  bool fits(const Shape& actual) const;
  /// The static shape, or the partial one with 0 for unknown extents: what get_tensor uses before there is a shape.
  Shape least_shape() const;
};

struct PortRef {
  bool is_input = true;
  std::size_t index = 0;
};

/// The model that plans are made from, and how plans are cached.
struct ModelSource {
  std::shared_ptr<const Model> model;                  ///< Null until first needed...
  std::function<std::shared_ptr<const Model>()> read;  ///< ...then this reads it.
  cache::Settings cache;
  cache::Origin origin;                    ///< Names the unchanged model to the cache.
  std::vector<cache::FileIdentity> files;  ///< All files that it was read from.
  std::shared_ptr<RemoteContextImpl> context =
      nullptr;  ///< The context in which it is compiled; null: the device chooses.
};

/// The model built for one combination of frame formats; without frames, the model as it was given.
struct InputVariant {
  /// Per input: the format of its frames, nothing for a tensor.
  using Key = std::vector<std::optional<FrameInfo>>;
  Key key;
  std::shared_ptr<CompiledModelImpl> impl;
  bool from_cache = false;
  /// Per input: its first port in impl, and how many it has (planes).
  std::vector<std::size_t> first_input;
  std::vector<std::size_t> input_count;
};

/// @thread all members from any thread.
class ModelState {
 public:
  /// A model that is compiled when a variant is first asked for.
  ModelState(std::shared_ptr<SharedState> shared, std::shared_ptr<Device> device, ModelSource source, AnyMap properties,
             ZeroCopy policy);
  /// A model whose first plan is there: from the cache, so that the model itself was not read yet, or made for a context.
  ModelState(std::shared_ptr<SharedState> shared, std::shared_ptr<Device> device,
             std::shared_ptr<CompiledModelImpl> impl, bool from_cache, ModelSource source, AnyMap properties,
             ZeroCopy policy);
  /// An imported model.
  ModelState(std::shared_ptr<SharedState> shared, std::shared_ptr<Device> device,
             std::shared_ptr<CompiledModelImpl> impl, ZeroCopy policy);

  const Ports& ports() const noexcept { return ports_; }
  const std::vector<PortInfo>& inputs() const noexcept { return inputs_; }
  const std::vector<PortInfo>& outputs() const noexcept { return outputs_; }
  const PortInfo& info(PortRef port) const { return (port.is_input ? inputs_ : outputs_)[port.index]; }
  Device& device() const noexcept { return *device_; }
  ZeroCopy policy() const noexcept { return policy_; }
  const cache::Settings& cache_settings() const noexcept { return source_.cache; }
  SharedState& shared() const noexcept { return *shared_; }
  std::shared_ptr<Ledger> shared_ledger() const { return {shared_, &shared_->ledger}; }

  /// Finds a port by tensor name, else by friendly name. @errors kNotFound; the message lists the names.
  PortRef find(std::string_view name) const;
  /// Finds a port by a port of this model or of the model that it was compiled from. @errors kNotFound.
  PortRef find(const Output<const Node>& port) const;
  /// @errors kNotFound with the number of ports.
  std::size_t check_index(bool is_input, std::size_t index) const;

  /// Compiles on first use; `key` empty means no frames. @errors as Device::compile_model.
  std::shared_ptr<const InputVariant> variant(const InputVariant::Key& key);
  /// The plan used for properties, runtime model and export: the first one compiled.
  std::shared_ptr<const InputVariant> main_variant();
  std::size_t variant_count() const;
  FrameGeometry frame_geometry(const FrameInfo& info, std::size_t input) const;

  /// @param streams  Minimum number of streams. The first call creates the executor; the number never shrinks.
  Executor& executor(std::size_t streams = 0);

  /// An inference is over.
  void note_inference() noexcept {
    if (!has_run_.load(std::memory_order_relaxed) && !has_run_.exchange(true)) process_end::note_first_inference();
  }

 private:
  void read_ports();
  void add_main(std::shared_ptr<CompiledModelImpl> impl, bool from_cache);
  /// Null for imported models, which therefore take no frames. Reads the model if that was deferred.
  const std::shared_ptr<const Model>& model() const;
  std::shared_ptr<const InputVariant> build(const InputVariant::Key& key) const;

  std::shared_ptr<SharedState> shared_;
  std::shared_ptr<Device> device_;
  mutable ModelSource source_;
  mutable std::once_flag read_once_;
  AnyMap properties_;
  ZeroCopy policy_;
  Ports ports_;
  std::vector<PortInfo> inputs_;
  std::vector<PortInfo> outputs_;
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, PortRef, TextHash, std::equal_to<>> by_name_;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const InputVariant>> variants_;
  std::once_flag executor_once_;
  std::unique_ptr<Executor> executor_;
  std::atomic<bool> has_run_{false};
};

/// The runtime's edges in the ledger.
EdgeId copy_in_edge();
EdgeId copy_out_edge();
EdgeId frame_edge();
EdgeId replan_edge();

}  // namespace v1
}  // namespace tenon
