// SPDX-License-Identifier: Apache-2.0
// Edges between USM and host memory, and between contexts of Level Zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cpu/pages.hpp>
#include <tenon/frameworks/level_zero/context.hpp>
#include <tenon/frameworks/level_zero/system_import.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

using cpu::page_bytes;
inline const Native* native_of(const Context& context) {
  const auto* usm = context.as<UsmContext>();
  return usm ? &usm->native() : nullptr;
}
inline constexpr const char* kNotOurs = "source or target is not a context of level_zero";

inline Reached copied(const Description& from, const Context& to, MemoryKind kind, double cost_ns, double ns_per_byte) {
  return packed_copy(from, to, kind, cost_ns, ns_per_byte, 64, true);
}

/// A driver's host memory under the CPU's name; freed with it.
inline Ref<Memory> as_host_memory(Ref<Memory> staged) {
  void* const host = staged->host();
  const std::size_t size = staged->size_bytes();
  return HostMemory::borrow(host, size, false, [staged = std::move(staged)]() mutable { staged = {}; });
}

/// USM with a host address is shared as host memory; other USM is copied out by the device.
class UsmToCpu final : public Edge {
 public:
  std::string_view name() const override { return "level_zero.usm->cpu"; }
  MemoryKind from() const override { return kUsmMemory; }
  MemoryKind to() const override { return kCpuMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const Native* native = native_of(from.context);
    if (!native) return Refusal{kNotOurs};
    if (from.host_addressable) {
      if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
      Reached reached = shared_in_place(from, to, kCpuMemory, 100);
      // A driver cannot import pages that a driver already owns: keeps that from being planned as the next hop.
      reached.result.alignment = std::min<std::size_t>(from.alignment, 64);
      return reached;
    }
    return copied(from, to, kCpuMemory, 20'000, native->device.integrated ? 0.1 : 0.2);
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    reach(*this, source, to, options);
    const Deadline deadline = deadline_of(options);
    if (source.is_host_addressable()) {
      source.memory()->wait_for(options.access, deadline, &ledger_of(options));
      return host_view(source, to, kCpuMemory, options.access,
                       nullptr);  // Not standing: each map waits for the device.
    }
    source.memory()->wait_for(Access::kRead, deadline, &ledger_of(options));
    const TensorInfo packed{source.element_type(), source.shape(), {}};
    if (source.size_bytes() == 0) return Tensor(source.element_type(), source.shape());
    const auto& context = *source.context().as<UsmContext>();
    Ref<Memory> staged = context.read_now(source, deadline);
    if (!context.native().device.integrated) ledger_of(options).book_transferred(id(), source.size_bytes());
    return Tensor(packed, as_host_memory(std::move(staged)));
  }
};

/// Host memory as USM in place: any pointer if the device accepts that, else whole pages, imported once.
class CpuToUsm final : public Edge {
 public:
  std::string_view name() const override { return "cpu->level_zero.usm"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kUsmMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const Native* native = native_of(to);
    if (!native) return Refusal{kNotOurs};
    if (std::string reason = obstacle(*native, from, access); !reason.empty()) return Refusal{std::move(reason)};
    return shared_in_place(from, to, kUsmMemory, native->device.takes_any_pointer() ? 100 : 20'000);
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    reach(*this, source, to, options);
    const Memory& memory = *source.memory();
    if (memory.context() == to) return source.through(nullptr);
    const View* view = memory.find_view(*to, kUsmMemory, options.access);
    if (!view) {
      const auto& context = *to.as<UsmContext>();
      void* const host = source.view() ? source.view()->host() : memory.host();
      if (memory.kind() == kUsmMemory)
        throw Error(Code::kFailedPrecondition, std::string(name()) + ": the pages are those of " +
                                                   std::string(memory.context()->name()) +
                                                   " already; map that memory itself, not the CPU's view of it");
      Ref<RefCounted> import;
      if (!context.native().device.takes_any_pointer())
        import = SystemImport::of(context.native_ref(), host, memory.size_bytes());
      auto made = std::make_unique<UsmView>(to, widest_access(source), host, host, UsmBlock(), std::move(import));
      made->set_standing(id());  // The pages stay the same, so mapping again needs no call.
      view = &memory.add_view(std::move(made));
    }
    return source.through(view);
  }

 private:
  static std::string obstacle(const Native& native, const Description& from, Access access) {
    if (!from.host_addressable) return "it takes a host address, and this memory has none";
    if (writes(access) && from.read_only) return "the memory is read-only";
    if (native.device.takes_any_pointer()) return {};
    const std::string device = native.device.name;
    if (!native.device.imports_system_memory())
      return device + " imports no memory of the system (" + abi::kSystemMemoryExtension +
             " is not among its driver's extensions)";
    if (from.read_only) return "the memory is read-only, and system memory is imported for reading and writing";
    const std::size_t page = page_bytes();
    const std::string whole = ": " + device + " imports whole pages of " + std::to_string(page) + " bytes";
    if (from.alignment < page) return "the memory is aligned to " + std::to_string(from.alignment) + " bytes" + whole;
    if (from.memory_bytes == 0 || from.memory_bytes % page != 0)
      return "the memory has " + std::to_string(from.memory_bytes) + " bytes" + whole;
    return {};
  }
};

/// Copies host memory into driver host memory. Refuses memory that the sharing edge takes, i.e. whole pages by nature,
/// but not memory that only happens to be page-aligned: its route may have been planned with a smaller alignment than
/// the memory has.
class CpuToUsmCopy final : public Edge {
 public:
  explicit CpuToUsmCopy(const CpuToUsm& twin) : twin_(twin) {}
  std::string_view name() const override { return "cpu->level_zero.usm (copy)"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kUsmMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const Native* native = native_of(to);
    if (!native) return Refusal{kNotOurs};
    if (!from.host_addressable) return Refusal{"it takes a host address, and this memory has none"};
    if (from.fd != FdKind::kNone && std::holds_alternative<Reached>(twin_.step(from, to, access)))
      return Refusal{"the memory can be shared in place"};
    if (!native->device.takes_host()) return Refusal{native->device.name + " takes no host memory to copy into"};
    Reached reached = copied(from, to, kUsmMemory, 5'000, 0.1);
    reached.result.memory_bytes = std::max<std::size_t>(reached.result.memory_bytes, 1);  // Empty USM does not exist.
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    reach(*this, source, to, options);
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    Requirements wanted;
    wanted.size_bytes = source.size_bytes();
    Tensor copy({source.element_type(), source.shape(), {}}, to.as<UsmContext>()->allocate(wanted, UsmType::kHost));
    source.copy_to(copy);
    return copy;
  }

 private:
  const CpuToUsm& twin_;
};

/// Contexts over one ze_context share their memory; others exchange it only by export and import.
class UsmToUsm final : public Edge {
 public:
  std::string_view name() const override { return "level_zero.usm->level_zero.usm"; }
  MemoryKind from() const override { return kUsmMemory; }
  MemoryKind to() const override { return kUsmMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const Native *source = native_of(from.context), *target = native_of(to);
    if (!source || !target) return Refusal{kNotOurs};
    if (source->context.get() != target->context.get())
      return Refusal{"the memory belongs to another ze_context: it passes as a dma-buf, or over the host"};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    return shared_in_place(from, to, kUsmMemory, 50);
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    reach(*this, source, to, options);
    const Memory& memory = *source.memory();
    if (memory.context() == to) return source.through(nullptr);
    const View* view = memory.find_view(*to, kUsmMemory, options.access);
    if (!view) {
      void* const data = static_cast<std::byte*>(usm_pointer(source)) - source.offset();
      void* const host = source.view() ? source.view()->host() : memory.host();
      auto made = std::make_unique<UsmView>(to, widest_access(source), host, data, UsmBlock());
      made->set_standing(id());
      view = &memory.add_view(std::move(made));
    }
    return source.through(view);
  }
};

inline const UsmToCpu usm_to_cpu;
inline const CpuToUsm cpu_to_usm;
inline const CpuToUsmCopy cpu_to_usm_copy{cpu_to_usm};
inline const UsmToUsm usm_to_usm;

}  // namespace detail
}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
