// SPDX-License-Identifier: Apache-2.0
// Edges between CUDA and host memory, and between contexts of CUDA.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
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
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/standing_view.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cpu/pages.hpp>
#include <tenon/frameworks/cuda/context.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {
namespace detail {

inline constexpr const char* kNotOurs = "source or target is not a context of cuda";
/// PCIe 5 carries some 50 bytes a nanosecond, PCIe 4 half of that.
inline constexpr double kTransferNsPerByte = 0.03;

/// Pinned and managed memory is shared as host memory; device memory is copied out by the device.
class CudaToCpu final : public Edge {
 public:
  std::string_view name() const override { return "cuda->cpu"; }
  MemoryKind from() const override { return kCudaMemory; }
  MemoryKind to() const override { return kCpuMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const auto* cuda = from.context.as<CudaContext>();
    if (!cuda) return Refusal{kNotOurs};
    if (!from.host_addressable) return packed_copy(from, to, kCpuMemory, 20'000, kTransferNsPerByte, 64, true);
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    Reached reached = shared_in_place(from, to, kCpuMemory, 100);
    // CUDA pins no pages that it has pinned already: keeps that from being planned as the next hop.
    reached.result.alignment = std::min<std::size_t>(from.alignment, 64);
    return reached;
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
    copy_elements(source.context().as<CudaContext>()->native_ref(), source, copy.memory(), Side::host(copy.data()),
                  Direction::kOut, deadline);
    ledger_of(options).book_transferred(id(), source.size_bytes());
    return copy;
  }
};

/// Host memory as CUDA memory in place: whole pages, pinned once. The device then reads and writes them over its bus.
class CpuToCuda final : public Edge {
 public:
  std::string_view name() const override { return "cpu->cuda"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kCudaMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const auto* cuda = to.as<CudaContext>();
    if (!cuda) return Refusal{kNotOurs};
    if (std::string reason = obstacle(cuda->native().device, from, access); !reason.empty())
      return Refusal{std::move(reason)};
    Reached reached = shared_in_place(from, to, kCudaMemory, 50'000);
    reached.ns_per_byte = cuda->native().device.integrated ? 0 : kTransferNsPerByte;
    return reached;
  }
  bool makes_standing_views(const Context&) const override { return true; }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    // The pages stay the same, so mapping again needs no call.
    if (source.memory()->context() == to) return source.through(nullptr);
    return standing_view(*this, source, to, kCudaMemory, options.access, [&] {
      const auto& context = *to.as<CudaContext>();
      void* const host = host_base(source);
      Ref<RefCounted> pinned = PinnedPages::of(context.native_ref(), host, source.memory()->size_bytes());
      abi::DevicePointer data = 0;
      const Current current(context.native().handle());
      check(call(driver().cuMemHostGetDevicePointer, &data, host, 0u), "cuMemHostGetDevicePointer",
            [&] { return "asking for the device's address of " + to_string(source); });
      return std::make_unique<CudaView>(to, widest_access(source), host, data, std::move(pinned));
    });
  }

 private:
  static std::string obstacle(const Device& device, const Description& from, Access access) {
    if (!from.host_addressable) return "it takes a host address, and this memory has none";
    if (from.read_only)
      return writes(access) ? "the memory is read-only" : "the memory is read-only, and CUDA pins pages for writing";
    if (!device.registers_host) return device.name + " pins no memory of others (its attributes)";
    const std::size_t page = cpu::page_bytes();
    const std::string whole = ": CUDA pins whole pages of " + std::to_string(page) + " bytes in place";
    if (from.alignment < page) return "the memory is aligned to " + std::to_string(from.alignment) + " bytes" + whole;
    if (from.memory_bytes == 0 || from.memory_bytes % page != 0)
      return "the memory has " + std::to_string(from.memory_bytes) + " bytes" + whole;
    return {};
  }
};

inline const CpuToCuda cpu_to_cuda;

/// Copies host memory to the device. Refuses memory that is shared, i.e. whole pages by nature (with a descriptor), but
/// not memory that only happens to be page-aligned: its route may have been planned with a smaller alignment.
class CpuToCudaCopy final : public Edge {
 public:
  std::string_view name() const override { return "cpu->cuda (copy)"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kCudaMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    if (!to.as<CudaContext>()) return Refusal{kNotOurs};
    if (!from.host_addressable) return Refusal{"it takes a host address, and this memory has none"};
    if (from.fd != FdKind::kNone && std::holds_alternative<Reached>(cpu_to_cuda.step(from, to, access)))
      return Refusal{"the memory can be shared in place"};
    Reached reached = packed_copy(from, to, kCudaMemory, 20'000, kTransferNsPerByte, 1, false);
    reached.result.memory_bytes = std::max<std::size_t>(reached.result.memory_bytes, 1);  // CUDA has no empty memory.
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Deadline deadline = deadline_of(options);
    source.memory()->wait_for(Access::kRead, deadline, &ledger_of(options));
    CudaContext& cuda = *to.as<CudaContext>();
    Requirements wanted;
    wanted.size_bytes = source.size_bytes();
    Tensor copy({source.element_type(), source.shape(), {}}, cuda.allocate(wanted, MemoryType::kDevice));
    if (source.size_bytes() == 0) return copy;
    Tensor packed = source;
    if (!source.is_contiguous()) {
      packed = Tensor(source.element_type(), source.shape());
      source.copy_to(packed);
    }
    copy_elements(cuda.native_ref(), copy, packed.memory(), Side::host(packed.data()), Direction::kIn, deadline);
    ledger_of(options).book_transferred(id(), source.size_bytes());
    return copy;
  }
};

/// Contexts over one CUcontext share their memory.
class CudaToCuda final : public Edge {
 public:
  std::string_view name() const override { return "cuda->cuda"; }
  MemoryKind from() const override { return kCudaMemory; }
  MemoryKind to() const override { return kCudaMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const auto *source = from.context.as<CudaContext>(), *target = to.as<CudaContext>();
    if (!source || !target) return Refusal{kNotOurs};
    if (source->native().handle() != target->native().handle())
      return Refusal{"the memory belongs to another CUcontext (of " + source->native().device.name +
                     "): it passes over the host"};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    return shared_in_place(from, to, kCudaMemory, 50);
  }
  bool makes_standing_views(const Context&) const override { return true; }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    if (source.memory()->context() == to) return source.through(nullptr);
    return standing_view(*this, source, to, kCudaMemory, options.access, [&] {
      return std::make_unique<CudaView>(to, widest_access(source), host_base(source), pointer(source) - source.offset(),
                                        Ref<RefCounted>());
    });
  }
};

inline const CudaToCpu cuda_to_cpu;
inline const CpuToCudaCopy cpu_to_cuda_copy;
inline const CudaToCuda cuda_to_cuda;
inline constexpr const Edge* kEdges[] = {&cuda_to_cpu, &cpu_to_cuda, &cpu_to_cuda_copy, &cuda_to_cuda};

}  // namespace detail

inline std::span<const Edge* const> CudaContext::edges() const { return detail::kEdges; }

}  // namespace cuda
}  // namespace v1
}  // namespace tenon
