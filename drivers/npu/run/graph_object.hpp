// SPDX-License-Identifier: Apache-2.0
// Interface of a graph for command lists and queues: arguments and runs, independent of the implementation.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <level_zero/ze_api.h>

namespace tenon::npu {

class Allocation;
class Context;
class Device;
class TileScheduler;   // The device's compute threads: tile_scheduler.hpp.
class ProfilingQuery;  // Receives a run's measurements; null if the list has none.

/// One argument's memory, with strides if the client gave its own: five, in elements, in
/// the order of abi::ArgumentStrides (OpenVINO: innermost first). The memory must be
/// allocated or imported by the client (memory.hpp); an object that stores the pointer
/// also keeps the Allocation.
struct ArgumentValue {
  void* data = nullptr;
  std::span<const std::uint32_t> element_strides;
};

/// Asked between two steps of a computation whether to stop early. @thread that of the run.
struct StopCheck {
  bool (*asked)(void*) = nullptr;
  void* context = nullptr;
};
/// Returned by a run that a StopCheck ended; never passed to a client.
inline constexpr auto kStopped = static_cast<ze_result_t>(0x70ffffff);

/// One execution of a graph in a command list: its bindings and its own working memory.
/// @thread one at a time; a run is never executed concurrently.
class GraphRun {
 public:
  virtual ~GraphRun() = default;
  /// For mutable lists; takes effect at the next execute(). @return ZE_RESULT_ERROR_INVALID_ARGUMENT for a bad index.
  virtual ze_result_t set_argument(std::uint32_t index, const ArgumentValue& value) = 0;
  /// Computes on the device's workers and returns when the outputs are written. Never throws. @return kStopped if
  /// `stop` ended it; outputs are then incomplete.
  virtual ze_result_t execute(TileScheduler& workers, StopCheck stop) noexcept = 0;
  /// Whether an argument is in this memory. Called from any thread while the run's list is submitted.
  virtual bool uses(const Allocation& memory) const noexcept = 0;
  /// Whether an argument is in a dma-buf, so that the run may wait for other devices.
  virtual bool may_wait() const noexcept = 0;
  /// Whether the graph has loops whose trip count is known only at run time: it may run for ever.
  virtual bool rounds_depend_on_data() const noexcept = 0;
  /// Bytes of all arguments.
  virtual std::uint64_t moved_bytes() const noexcept = 0;
};

/// A compiled graph, shared by the client's handle and the runs in lists.
/// @thread all members from any thread.
class GraphObject : public std::enable_shared_from_this<GraphObject> {
 public:
  virtual ~GraphObject() = default;
  /// The graph's context and device; lists of other contexts or devices cannot execute it.
  virtual Context& context() const noexcept = 0;
  virtual Device& device() const noexcept = 0;
  /// Loads the weights onto the device; a second call does nothing.
  virtual ze_result_t initialize() noexcept = 0;
  /// Creates a run with the current arguments. `query` may be null and is kept by the run.
  /// @return ZE_RESULT_ERROR_INVALID_ARGUMENT if an argument is not set.
  virtual ze_result_t make_run(std::shared_ptr<ProfilingQuery> query, std::unique_ptr<GraphRun>& run) noexcept = 0;
};

}  // namespace tenon::npu
