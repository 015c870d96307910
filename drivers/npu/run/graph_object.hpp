// SPDX-License-Identifier: Apache-2.0
// What command lists and queues know of a graph: arguments to hold, a run to make, nothing of how it computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <level_zero/ze_api.h>

namespace tenon::npu {

class Allocation;
class Context;
class Device;
class TileScheduler;   // The device's compute threads: tile_scheduler.hpp.
class ProfilingQuery;  // Where a run leaves what it measured; null when the list was given none.

/// Memory of one argument, and strides where the client gave its own: in elements, in the order in which the client
/// wrote them into abi::ArgumentStrides (OpenVINO: innermost first), five of them.
/// The memory is one that the client allocated or imported (memory.hpp); who keeps the pointer keeps the
/// Allocation.
struct ArgumentValue {
  void* data = nullptr;
  std::span<const std::uint32_t> element_strides;
};

/// Asked between two steps of what computes whether it is to end before its time. @thread that of the run.
struct StopCheck {
  bool (*asked)(void*) = nullptr;
  void* context = nullptr;
};
/// What a run returns that a StopCheck ended; never told to a client.
inline constexpr auto kStopped = static_cast<ze_result_t>(0x70ffffff);

/// One place of a command list where a graph is executed: its bindings and its own working memory.
/// @thread one thread at a time; a run is never executed twice at once.
class GraphRun {
 public:
  virtual ~GraphRun() = default;
  /// For mutable lists: takes effect at the next execute(). @return ZE_RESULT_ERROR_INVALID_ARGUMENT for a bad index.
  virtual ze_result_t set_argument(std::uint32_t index, const ArgumentValue& value) = 0;
  /// Computes on the device's workers and returns when the outputs are written. Never throws. @return kStopped: `stop`
  /// asked for it, and the outputs are not whole.
  virtual ze_result_t execute(TileScheduler& workers, StopCheck stop) noexcept = 0;
  /// Whether an argument lies in this memory. While the run's list is submitted, from any thread.
  virtual bool uses(const Allocation& memory) const noexcept = 0;
};

/// A compiled graph, shared by the handle that the client has and by the runs that lists keep.
/// @thread all members from any thread.
class GraphObject : public std::enable_shared_from_this<GraphObject> {
 public:
  virtual ~GraphObject() = default;
  /// Those that it was made for: no list of others executes it.
  virtual Context& context() const noexcept = 0;
  virtual Device& device() const noexcept = 0;
  /// Brings the weights to the device; does nothing the second time.
  virtual ze_result_t initialize() noexcept = 0;
  /// A run with the arguments that are set now. `query` may be null, and is kept by the run.
  /// @return ZE_RESULT_ERROR_INVALID_ARGUMENT when an argument is not set.
  virtual ze_result_t make_run(std::shared_ptr<ProfilingQuery> query, std::unique_ptr<GraphRun>& run) noexcept = 0;
};

}  // namespace tenon::npu
