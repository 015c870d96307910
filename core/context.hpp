// SPDX-License-Identifier: Apache-2.0
// Contexts: where memory lives, and which ways lead from and to it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <tenon/core/export.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>

namespace tenon {
inline namespace v1 {

class Edge;
class Memory;
class Tensor;

/// Which silicon a context stands on: are two contexts the same device? Unknown parts are zero.
struct DeviceIdentity {
  std::array<std::uint8_t, 16> uuid{};
  std::uint32_t pci_domain = 0, pci_bus = 0, pci_device = 0, pci_function = 0;
  bool has_uuid = false, has_pci = false;

  /// True only when both say enough to know.
  bool same_device(const DeviceIdentity& other) const {
    if (has_uuid && other.has_uuid) return uuid == other.uuid;
    if (has_pci && other.has_pci) {
      return pci_domain == other.pci_domain && pci_bus == other.pci_bus && pci_device == other.pci_device &&
             pci_function == other.pci_function;
    }
    return false;
  }
};

/// What a framework implements: a device or library context whose memory Tenon can name.
/// @thread const members from any thread.
class TENON_API ContextImpl : public RefCounted {
 public:
  ContextImpl();
  /// "cpu", "opencl:NVIDIA H200"; unique enough for a person to know which one is meant.
  virtual std::string_view name() const = 0;
  /// The kind of memory that is native to this context.
  virtual MemoryKind kind() const = 0;
  /// Edges of this context's framework, from and to any kind. Static objects: they outlive every router.
  virtual std::span<const Edge* const> edges() const { return {}; }
  virtual DeviceIdentity device() const { return {}; }
  /// What tensors must look like to be used here in place, before any one consumer's wishes.
  virtual Requirements requirements() const { return {}; }
  /// What a user can do so that memory of this context need not be copied elsewhere, for explanations; empty: nothing
  /// known. A literal.
  virtual std::string_view remedy() const { return {}; }
  /// Allocates memory that meets `wanted`. @errors kUnimplemented when this context only wraps; kResourceExhausted.
  virtual Ref<Memory> allocate(const Requirements& wanted);
  /// Copies bytes out of / into a tensor of this context through the framework's own calls: the oracle of alias tests,
  /// and nothing that a steady state would use. Both cover tensor.size_bytes() packed bytes and wait for completion.
  virtual void read(const Tensor& tensor, std::span<std::byte> out) const;
  virtual void write(const Tensor& tensor, std::span<const std::byte> in) const;

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

}  // namespace v1
}  // namespace tenon
