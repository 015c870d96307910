// SPDX-License-Identifier: Apache-2.0
// Edges between SYCL's USM and host memory, and between contexts of SYCL.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/standing_view.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/sycl/context.hpp>

namespace tenon {
inline namespace v1 {
namespace sycl {
namespace detail {

inline constexpr const char* kNotOurs = "source or target is not a context of sycl";

/// Host and shared USM is the host's memory, too; device USM is copied out by the device.
class UsmToCpu final : public Edge {
 public:
  std::string_view name() const override { return "sycl.usm->cpu"; }
  MemoryKind from() const override { return kUsmMemory; }
  MemoryKind to() const override { return kCpuMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const auto* usm = from.context.as<UsmContext>();
    if (!usm) return Refusal{kNotOurs};
    if (!from.host_addressable) return packed_copy(from, to, kCpuMemory, 30'000, 0.1, 64, true);
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    return shared_in_place(from, to, kCpuMemory, 100);
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Deadline deadline = deadline_of(options);
    if (source.is_host_addressable()) {
      source.memory()->wait_for(options.access, deadline, &ledger_of(options));
      return host_view(source, to, kCpuMemory, options.access, nullptr);  // Each map waits for the device.
    }
    source.memory()->wait_for(Access::kRead, deadline, &ledger_of(options));
    Tensor copy(source.element_type(), source.shape());
    if (source.size_bytes() == 0) return copy;
    const auto& usm = *source.context().as<UsmContext>();
    usm.copy_now(source, copy.memory(), true, deadline);
    if (!usm.native().device.is_cpu()) ledger_of(options).book_transferred(id(), source.size_bytes());
    return copy;
  }
};

/// Host memory in place, on devices whose kernels take any pointer.
class CpuToUsm final : public Edge {
 public:
  std::string_view name() const override { return "cpu->sycl.usm"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kUsmMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const auto* usm = to.as<UsmContext>();
    if (!usm) return Refusal{kNotOurs};
    if (!from.host_addressable) return Refusal{"it takes a host address, and this memory has none"};
    if (!usm->native().takes_any_pointer())
      return Refusal{usm->native().name + " takes only pointers of USM (it lacks the aspect usm_system_allocations)"};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    return shared_in_place(from, to, kUsmMemory, 100);
  }
  bool makes_standing_views(const Context&) const override { return true; }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    if (source.memory()->context() == to) return source.through(nullptr);
    return standing_view(*this, source, to, kUsmMemory, options.access, [&] {
      void* const host = host_base(source);
      return std::make_unique<UsmView>(to, widest_access(source), host, host);
    });
  }
};

inline const CpuToUsm cpu_to_usm;

/// Other host memory is copied: to the device, or on a CPU to host USM.
class CpuToUsmCopy final : public Edge {
 public:
  std::string_view name() const override { return "cpu->sycl.usm (copy)"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kUsmMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const auto* usm = to.as<UsmContext>();
    if (!usm) return Refusal{kNotOurs};
    if (!from.host_addressable) return Refusal{"it takes a host address, and this memory has none"};
    if (std::holds_alternative<Reached>(cpu_to_usm.step(from, to, Access::kRead)))
      return Refusal{"the memory can be shared in place"};
    const UsmType type = type_of(*usm);
    if (!usm->native().has(type))
      return Refusal{usm->native().name + " has no " + sycl::name(type) + " USM to copy into (its aspects)"};
    Reached reached = packed_copy(from, to, kUsmMemory, 20'000, 0.1, 64, type == UsmType::kHost);
    reached.result.memory_bytes = std::max<std::size_t>(reached.result.memory_bytes, 1);  // Empty USM does not exist.
    if (type == UsmType::kDevice) reached.result.alignment = 1;
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Deadline deadline = deadline_of(options);
    source.memory()->wait_for(Access::kRead, deadline, &ledger_of(options));
    UsmContext& usm = *to.as<UsmContext>();
    Requirements wanted;
    wanted.size_bytes = source.size_bytes();
    Tensor copy({source.element_type(), source.shape(), {}}, usm.allocate(wanted, type_of(usm)));
    if (copy.is_host_addressable()) {
      source.copy_to(copy);
      return copy;
    }
    Tensor packed(source.element_type(), source.shape());
    source.copy_to(packed);
    usm.copy_now(copy, packed.memory(), false, deadline);
    ledger_of(options).book_transferred(id(), source.size_bytes());
    return copy;
  }

 private:
  static UsmType type_of(const UsmContext& usm) {
    return usm.native().device.is_cpu() ? UsmType::kHost : UsmType::kDevice;
  }
};

/// Contexts over one sycl::context share their memory.
class UsmToUsm final : public Edge {
 public:
  std::string_view name() const override { return "sycl.usm->sycl.usm"; }
  MemoryKind from() const override { return kUsmMemory; }
  MemoryKind to() const override { return kUsmMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const auto *source = from.context.as<UsmContext>(), *target = to.as<UsmContext>();
    if (!source || !target) return Refusal{kNotOurs};
    if (source->native().context != target->native().context)
      return Refusal{"the memory belongs to another sycl::context: it passes over the host"};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    return shared_in_place(from, to, kUsmMemory, 50);
  }
  bool makes_standing_views(const Context&) const override { return true; }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    if (source.memory()->context() == to) return source.through(nullptr);
    return standing_view(*this, source, to, kUsmMemory, options.access, [&] {
      void* const data = static_cast<std::byte*>(usm_pointer(source)) - source.offset();
      return std::make_unique<UsmView>(to, widest_access(source), host_base(source), data);
    });
  }
};

inline const UsmToCpu usm_to_cpu;
inline const CpuToUsmCopy cpu_to_usm_copy;
inline const UsmToUsm usm_to_usm;
inline constexpr const Edge* kEdges[] = {&usm_to_cpu, &cpu_to_usm, &cpu_to_usm_copy, &usm_to_usm};

}  // namespace detail

inline std::span<const Edge* const> UsmContext::edges() const { return detail::kEdges; }

}  // namespace sycl
}  // namespace v1
}  // namespace tenon
