// SPDX-License-Identifier: Apache-2.0
// Contexts: the devices and libraries that own memory, with the edges to and from that memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include <tenon/core/device_identity.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>

namespace tenon {
inline namespace v1 {

class Edge;
class Memory;
class Tensor;
class Timeline;

/// Interface that a framework implements: a device or library context whose memory Tenon can name.
/// @thread const members from any thread.
class TENON_API ContextImpl : public RefCounted {
 public:
  ContextImpl();
  /// Name shown to people ("cpu", "opencl:NVIDIA H200"); unique enough to tell contexts apart.
  virtual std::string_view name() const = 0;
  /// The kind of memory that is native to this context.
  virtual MemoryKind kind() const = 0;
  /// Edges that this context's framework provides, from and to any kind. Static objects that outlive every router.
  virtual std::span<const Edge* const> edges() const { return {}; }
  /// The hardware that works on this memory, under all names known for it: see same_device().
  virtual DeviceIdentity device() const { return {}; }
  /// The requirements that a tensor must meet to be used in place here, before any consumer adds its own.
  virtual Requirements requirements() const { return {}; }
  /// Whether commands in this context can be made to wait for points of `timeline` (by the framework's wait list), so
  /// that memory is mapped here while work on it is still running. False: maps wait on the host.
  virtual bool can_wait_for(const Timeline& /*timeline*/) const { return false; }
  /// Advice for explanations: what a user can do so that memory of this context need not be copied elsewhere. A string
  /// literal; empty when none is known.
  virtual std::string_view remedy() const { return {}; }
  /// The memory that allocate() would make for `wanted`, or the reason why it cannot. Planning asks before anything is
  /// allocated.
  virtual std::variant<Offer, Refusal> offer(const Requirements& wanted) const;
  /// Allocates memory that meets `wanted`, as offer() says. @errors kUnimplemented where offer() refuses;
  /// kResourceExhausted.
  virtual Ref<Memory> allocate(const Requirements& wanted);
  /// Copies bytes out of / into a tensor of this context through the framework's own calls. For alias tests, not for
  /// steady-state use. Both cover tensor.size_bytes() packed bytes and wait for completion.
  virtual void read(const Tensor& tensor, std::span<std::byte> out) const;
  virtual void write(const Tensor& tensor, std::span<const std::byte> in) const;

  /// Throws if offer() refuses; for allocate().
  void check_offer(const Requirements& wanted, Code code = Code::kUnimplemented) const;

  /// Unique in the process, never reused.
  std::uint64_t id() const noexcept { return id_; }

 private:
  std::uint64_t id_;
};

/// A value handle over a ContextImpl. Null when default-constructed.
class Context {
 public:
  Context() = default;
  explicit Context(Ref<ContextImpl> impl) : impl_(std::move(impl)) {}
  explicit operator bool() const { return static_cast<bool>(impl_); }
  ContextImpl* operator->() const { return impl_.get(); }
  ContextImpl& operator*() const { return *impl_; }
  const Ref<ContextImpl>& impl() const { return impl_; }
  /// The framework's own class, or null when this is another framework's context.
  template <typename T>
  T* as() const {
    return dynamic_cast<T*>(impl_.get());
  }
  friend bool operator==(const Context&, const Context&) = default;

 private:
  Ref<ContextImpl> impl_;
};

/// Whether two contexts work on one piece of hardware. False if either identity is not known well enough.
inline bool same_device(const Context& a, const Context& b) {
  return a && b && (a == b || a->device().same_device(b->device()));
}

}  // namespace v1
}  // namespace tenon
