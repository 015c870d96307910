// SPDX-License-Identifier: Apache-2.0
// What a plan consists of: buffers, and launches of kernels over places in them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/program/input_source.hpp>
#include <tenon/devices/gpu/program/launch.hpp>
#include <tenon/devices/gpu/program/library.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/partial_shape.hpp>
#include <tenon/planning/buffer_slices.hpp>

namespace tenon::inline v1::gpu_device {

struct PlanPort {
  std::string name;
  ElementType type = ElementType::kUndefined;
  Shape shape;
  bool takes_pitch = false;  ///< All kernels that read it take rows at any distance.
  InputForm form{};          ///< What the kernels read, if this is an input.
  /// A state's: the rows for which there is room along the axis along which it grows (kGrows); 0: it is packed.
  std::size_t room = 0;
  bool is_in_place = false;  ///< An output that lies where the state does that it is the next value of.
  /// If values decide how large this output is: the plan's output, an i32, that says it. `shape` is the largest then.
  std::optional<std::size_t> count{};
  PartialShape open{};  ///< With the extents that the count says.
  Shape shape_of(std::size_t counted) const {
    Shape known = shape;
    for (std::size_t axis = 0; count && axis < known.size(); ++axis)
      if (open[axis].is_dynamic()) known[axis] = counted;
    return known;
  }
  std::size_t size_bytes() const { return checked_size_bytes(type, shape).value_or(0); }
};

struct PlanVariable {
  std::string id;
  ElementType type = ElementType::kUndefined;
  Shape shape;
};

/// The programs of a plan's kernels as the device's twin has them, one for each launch; they may come after the plan.
/// @thread all members from any thread.
class TwinPrograms {
 public:
  using Programs = std::vector<std::shared_ptr<const Program>>;
  bool are_there() const noexcept { return are_there_.load(std::memory_order_acquire); }
  /// @pre are_there().
  const Programs& all() const noexcept { return all_; }
  /// Once.
  void set(Programs all) {
    all_ = std::move(all);
    are_there_.store(true, std::memory_order_release);
  }

 private:
  Programs all_;
  std::atomic<bool> are_there_{false};
};

/// Immutable once made, but for `twin`; shared by requests.
struct LaunchPlan {
  std::vector<PlanPort> inputs;
  std::vector<PlanPort> outputs;  ///< The model's results, then counts of outputs that values decide.
  std::vector<PlanVariable> variables;
  std::vector<planning::Buffer> buffers;                 ///< All of them roots.
  std::vector<std::shared_ptr<const Launch>> launches;   ///< Shared with plans for other shapes.
  std::vector<std::shared_ptr<const Program>> programs;  ///< One for each launch.
  std::shared_ptr<TwinPrograms> twin;                    ///< Null: the model does not run by one.
  std::shared_ptr<IdleKernels> idle_kernels = std::make_shared<IdleKernels>();  ///< Shared with plans for other shapes.
  std::vector<std::shared_ptr<const DeviceBuffer>>
      constants;  ///< One for each buffer; null for those that are no constants.
  std::size_t arena_bytes = 0;
  /// An execution's own memory: values between its kernels, and outputs that a program gives no memory for.
  std::uint64_t memory_bytes() const {
    std::uint64_t bytes = arena_bytes;
    for (const PlanPort& output : outputs) bytes += output.size_bytes();
    return bytes;
  }
  /// A buffer of an execution's own, which begins as zeros; kNoBuffer: none.
  planning::BufferId counters = planning::kNoBuffer;
  /// What launches copy of inputs that lie in images, at a pitch or in several tensors.
  std::size_t gathered_bytes = 0;

  /// An input's memory as a buffer's index: each item of a batch has its own.
  std::uint32_t input_index(std::size_t input, std::size_t item) const {
    return static_cast<std::uint32_t>(item * inputs.size() + input);
  }
  std::shared_ptr<const Model> model;  ///< That was lowered, for reports: its shapes may be others by now.
  /// Nodes that no kernel computes: name and type.
  std::vector<std::pair<std::string, std::string>> optimized_out() const;

  /// Whether an input and an output may begin at one address: no kernel reads the input once the output is written, or one does
  /// so that reads each element before it writes it.
  bool may_share(std::size_t input, std::size_t output) const;
};

}  // namespace tenon::inline v1::gpu_device
