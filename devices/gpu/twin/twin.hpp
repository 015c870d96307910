// SPDX-License-Identifier: Apache-2.0
// The same device as another API has it, which replays an inference's kernels as one graph.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/devices/gpu/native.hpp>

namespace tenon::inline v1::gpu_device {

/// An address in the device's memory, as the twin's kernels see it; 0: none.
using TwinAddress = std::uint64_t;

/// A kernel's function. It keeps its module, since plans and graphs that have it may outlive the program.
using TwinFunction = std::shared_ptr<const void>;

/// More work-groups than these along the second or the third axis are not for a twin: CUDA counts no more there.
constexpr std::size_t kMaxTwinGroups = 65535;

/// A kernel over work-groups, with its arguments: addresses and numbers, each in 8 bytes, the low ones first.
struct TwinLaunch {
  TwinFunction function;
  std::array<std::uint32_t, 3> groups{}, local{};
  std::uint32_t local_bytes = 0;  ///< Local memory that its text does not declare.
  std::vector<std::uint64_t> arguments;
  friend bool operator==(const TwinLaunch&, const TwinLaunch&) = default;
};

/// The kernels of an inference, one after the other.
struct TwinWork {
  std::span<const TwinLaunch> kernels;
  const void* plan = nullptr;  ///< What they were made for: a hint, by which graphs are found again.
  std::uint64_t version = 0;   ///< Another one where any kernel or argument is another.
  bool comes_again = false;    ///< The plan is known to come again: it is worth a graph of its own.
};

/// A program's kernels. @thread all members from any thread.
class TwinModule : public std::enable_shared_from_this<TwinModule> {
 public:
  virtual ~TwinModule() = default;
  /// @param local_bytes  Local memory that launches give it. @errors those of native calls.
  virtual TwinFunction find(const std::string& name, std::size_t local_bytes) const = 0;
};

/// Commands in order: what one request runs. @thread one at a time.
class TwinQueue {
 public:
  virtual ~TwinQueue() = default;
  /// Before the first command of an inference. @pre what was enqueued before is over.
  virtual void begin() = 0;
  /// What is enqueued later waits for the point, of whatever API, which has to be looked at afterwards: a failure does not stop the queue.
  /// @return false: the host has to wait. @errors those of native calls; the point's, if it has failed.
  virtual bool wait_for(const TimelinePoint& point) = 0;
  /// `from` is read before this returns, or before end() is reached if it is large. @errors those of native calls.
  virtual void copy_in(TwinAddress to, const void* from, std::size_t bytes) = 0;
  /// Runs the kernels. @return whether a graph that was made before served: only arguments that differ were told.
  /// @cost that of a launch where the work was expected, or ran before and is told to a graph still; else a native call for each kernel that
  /// differs; with another number of kernels, the graph is made anew. @errors those of native calls: nothing was enqueued.
  virtual bool replay(const TwinWork& work) = 0;
  /// What replay() will probably be given next, while the kernels of the last one run.
  /// @cost a native call for each kernel that differs from those of some graph that does not run.
  virtual void expect(const TwinWork& work) noexcept = 0;
  /// `to` is written by finish(). @errors those of native calls.
  virtual void copy_out(void* to, TwinAddress from, std::size_t bytes) = 0;
  /// After the last command. @errors those of native calls.
  virtual Ref<Timeline> end() = 0;
  /// After the end was reached: results lie where copy_out() was told.
  virtual void finish() noexcept = 0;
};

/// What memory is for.
enum class TwinUse : std::uint8_t {
  kConstant,     ///< It stays with what was made before it, as constants of a model do: they are parts of one piece.
  kOwn,          ///< The device's own; what is small is a part of a piece.
  kApplication,  ///< A tensor of an application's: a buffer of its own, so that it is no part of another.
};

/// A part of the memory that both have. It belongs to its holder.
class TwinMemory {
 public:
  virtual ~TwinMemory() = default;
  virtual cl_mem buffer() const = 0;
};

/// @thread all members from any thread.
class Twin {
 public:
  virtual ~Twin() = default;
  virtual std::string_view name() const = 0;
  /// The most local memory of a work-group.
  virtual std::size_t local_bytes() const = 0;
  /// Memory of at least this many bytes, which both read and write. @cost that of a piece (1 to 2 ms), unless it is a part of one.
  /// @errors kResourceExhausted; those of native calls.
  virtual std::shared_ptr<const TwinMemory> allocate(std::size_t bytes, TwinUse use) = 0;
  /// 0: this is none of its memory.
  virtual TwinAddress address_of(cl_mem buffer) const = 0;
  /// A program of the driver's, as CL_PROGRAM_BINARIES gives it. @errors those of native calls: the twin does not take it.
  virtual std::shared_ptr<const TwinModule> load(const std::string& binary) const = 0;
  /// @errors those of native calls.
  virtual std::unique_ptr<TwinQueue> make_queue() const = 0;
};

/// The twin of the device behind a context of OpenCL buffers, as far as an API of this build has one.
/// @param why  Gets the reason where there is none.
std::shared_ptr<Twin> find_twin(const Context& context, std::string& why);

}  // namespace tenon::inline v1::gpu_device
