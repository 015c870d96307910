// SPDX-License-Identifier: Apache-2.0
// A graph of the driver: compiled or imported, with its arguments and its blob.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/policy.hpp>  // IWYU pragma: export
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/npu/hardware.hpp>
#include <tenon/devices/npu/native.hpp>
#include <tenon/graph/partial_shape.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon::inline v1::npu_device {

/// After this time a submission counts as hung.
inline constexpr std::chrono::seconds kSubmissionLimit{300};
/// How soon a cancelled inference returns if the driver cannot end it.
inline constexpr std::chrono::milliseconds kWaitSlice{20};

/// One argument of a graph.
struct Argument {
  enum class Role {
    kPort,        ///< An input or output of the model.
    kState,       ///< `name` is the variable's.
    kShape,       ///< I32 extents, innermost first, of the argument called `name`.
    kStateShape,  ///< Extents of the state called `name`.
  };
  std::uint32_t index = 0;
  bool is_input = true;
  Role role = Role::kPort;
  std::string name;           ///< The driver's name, without the prefix of states and shapes.
  std::string friendly_name;  ///< The model's name, as far as the driver knows it.
  std::vector<std::string> tensor_names;
  ElementType type = ElementType::kUndefined;
  Shape shape;               ///< Upper bounds where extents are dynamic.
  PartialShape model_shape;  ///< With dynamic extents if the driver reports them.
  bool strides = false;      ///< May be given with the address, in bytes.

  std::size_t bytes() const { return checked_size_bytes(type, shape).value_or(0); }
};

/// Options of a compiled model's queue.
struct QueueOptions {
  hint::Priority priority = hint::Priority::MEDIUM;
  bool turbo = false;
  bool sequential = false;
};
Handle<ze_command_queue_handle_t> make_queue(const Npu& npu, const QueueOptions& options);
Handle<ze_command_list_handle_t> make_list(const Npu& npu);
Handle<ze_fence_handle_t> make_fence(ze_command_queue_handle_t queue);
/// Waits until the fence is signalled, at most kSubmissionLimit, and resets it. Calls `give_up` (may be empty) every
/// kWaitSlice. @return false if `give_up` returned true. @errors kDeadlineExceeded; those of the driver.
bool wait_and_reset(ze_fence_handle_t fence, const std::function<bool()>& give_up = {});

/// @thread const members from any thread; set_argument and recording require mutex().
class Graph {
 public:
  /// Compiles. @param ir  in-memory IR.  @errors kUnimplemented, kInvalidArgument...: with the driver's log.
  static std::shared_ptr<Graph> compile(std::shared_ptr<const Npu> npu, const Tensor& ir, const std::string& flags,
                                        std::uint32_t graph_flags, const std::string& model);
  /// Imports the driver's own blob. @errors kDataLoss, kFailedPrecondition...: with the driver's log.
  static std::shared_ptr<Graph> import(std::shared_ptr<const Npu> npu, const Tensor& native);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const Npu& npu() const { return *npu_; }
  const std::shared_ptr<const Npu>& npu_ref() const { return npu_; }
  abi::GraphHandle handle() const { return handle_; }
  const std::vector<Argument>& arguments() const { return arguments_; }
  bool loaded_from_driver_cache() const { return (flags_ & abi::kGraphLoadedFromCache) != 0; }
  /// Whether executing needs a profiling query, if the driver can tell.
  bool profiled() const { return profiled_; }

  /// Loads weights onto the device, once. @errors those of the driver; the next call then tries again.
  void initialize(ze_command_queue_handle_t queue);
  /// Calls `use(data, size)` with the driver's blob. @errors those of the driver.
  template <typename Use>
  void with_blob(Use&& use) const {
    std::size_t size = 0;
    if (TENON_NPU_HAS(*npu_, get_native_binary_2)) {
      const std::uint8_t* view = nullptr;
      check(call(npu_->graph->get_native_binary_2, handle_, &size, &view), "pfnGetNativeBinary2", "exporting a model");
      use(view, size);
      return;
    }
    check(call(npu_->graph->get_native_binary, handle_, &size, static_cast<std::uint8_t*>(nullptr)),
          "pfnGetNativeBinary", "exporting a model");
    std::vector<std::uint8_t> copy(size);
    check(call(npu_->graph->get_native_binary, handle_, &size, copy.data()), "pfnGetNativeBinary", "exporting a model");
    use(copy.data(), size);
  }

  std::mutex& mutex() { return mutex_; }
  /// Requires mutex(). @param strides  in elements, innermost first; null: packed.
  void set_argument(std::uint32_t index, const void* data, const abi::ArgumentStrides* strides);

 private:
  Graph(std::shared_ptr<const Npu> npu, abi::GraphHandle handle, Tensor kept);
  void read_properties();
  Argument read_argument(std::uint32_t index) const;

  std::shared_ptr<const Npu> npu_;
  abi::GraphHandle handle_;
  Tensor kept_;  // The blob, if the driver uses it in place.
  std::vector<Argument> arguments_;
  std::uint32_t flags_ = 0;
  std::uint32_t init_stage_ = static_cast<std::uint32_t>(abi::InitStage::kCommandList);
  bool profiled_ = false;
  bool initialized_ = false;
  std::mutex initialize_mutex_;
  std::mutex mutex_;
};

/// Names of the layers that the driver's compiler supports. @errors with its log.
std::vector<std::string> supported_layers(const Npu& npu, const Tensor& ir, const std::string& flags);

}  // namespace tenon::inline v1::npu_device
