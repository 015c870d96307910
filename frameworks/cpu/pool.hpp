// SPDX-License-Identifier: Apache-2.0
// Pools of equal buffers that are reused, together with the views that other contexts made over them.
#pragma once

#include <cstddef>
#include <functional>

#include <tenon/core/frame.hpp>
#include <tenon/core/host.hpp>  // IWYU pragma: export
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace cpu {

/// One use of a pooled buffer: it returns to the pool with the last copy of `lease`. A tensor over it holds both.
struct PooledBuffer {
  Ref<Memory> memory;
  Lease lease;
  explicit operator bool() const { return static_cast<bool>(memory); }
};

/// Fixed-size buffers from a free list that grows on demand up to a limit. Memory objects persist between uses, and
/// with them their views in other contexts: this is the mapping cache. In the steady state nothing is allocated.
///
/// The pool may be destroyed while buffers are in use: they stay valid, and each is freed when its last lease goes.
/// @thread all members from any thread; leases may be dropped on any thread.
class Pool {
 public:
  using Allocate = std::function<Ref<Memory>(const Requirements&)>;

  /// Buffers as described by `wanted` (size, alignment, tail padding, fd), at most `limit` of them. `allocate` makes
  /// them; any context's allocate() will do. Without it they are host memory, or memfd memory when `wanted.fd` asks for
  /// a descriptor.
  /// @errors kInvalidArgument: a limit of 0. Nothing is allocated yet.
  Pool(const Requirements& wanted, std::size_t limit, Allocate allocate = {});
  Pool(std::size_t size_bytes, std::size_t limit);
  Pool(Pool&& other) noexcept;
  Pool& operator=(Pool&& other) noexcept;
  ~Pool();

  /// Returns a free buffer that nothing runs on, or a new one below the limit, or else waits for the first to come back
  /// or to be finished with before `deadline`. It may be written at once; its bytes are those of the last use, and
  /// failures of that use are forgotten.
  /// @param ledger  Where a wait for a device is booked; null: the process ledger.
  /// @errors kDeadlineExceeded, naming size and limit, or the device; errors of the allocation.
  PooledBuffer acquire(Deadline deadline = default_deadline(), Ledger* ledger = nullptr);
  /// As acquire(), but returns an empty buffer instead of waiting.
  PooledBuffer try_acquire();
  /// A tensor over a buffer. @errors as acquire(); kOutOfRange when `info` needs more than a buffer has.
  Tensor acquire_tensor(const TensorInfo& info, Deadline deadline = default_deadline());

  const Requirements& requirements() const;
  std::size_t limit() const;
  /// Buffers made so far, in use or not.
  std::size_t size() const;
  /// Buffers not in use.
  std::size_t idle() const;

 private:
  struct State;

  Ref<State> state_;
};

/// Frames of one format and size over pooled buffers, for decoders and sources.
/// @thread as Pool.
class FramePool {
 public:
  /// Rows and planes are laid out as `wanted` says; its size_bytes is raised to the size of a frame of `info`.
  /// @errors kInvalidArgument: extents of 0 or past the limit, a pitch above wanted.max_pitch; kUnimplemented: unknown
  /// format.
  FramePool(const FrameInfo& info, const Requirements& wanted, std::size_t limit, Pool::Allocate allocate = {});

  const FrameInfo& info() const { return info_; }
  /// The requirements passed in, with the size that a frame needs.
  const Requirements& requirements() const { return pool_.requirements(); }
  Pool& pool() { return pool_; }

  /// A frame over a free buffer; without a timestamp. @errors as Pool::acquire.
  Frame acquire(Deadline deadline = default_deadline());
  /// Empty when all buffers are in use.
  Frame try_acquire();

 private:
  Frame over(const PooledBuffer& buffer) const;

  FrameInfo info_;
  Pool pool_;
};

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
