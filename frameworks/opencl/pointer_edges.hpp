// SPDX-License-Identifier: Apache-2.0
// Edges between USM, SVM, buffers and host memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/access.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/buffer_edges.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/svm.hpp>
#include <tenon/frameworks/opencl/usm.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

inline Reached host_copy(const Description& from, const Context& to, const Native& native) {
  Reached reached = copied(from, to, kCpuMemory, 20'000, native.device.host_unified ? 0.1 : 0.2);
  reached.result.host_addressable = true;
  reached.result.alignment = 64;
  return reached;
}

/// The host's view of memory that already has a host address. Not standing: each map waits for the device.
inline Tensor through_host_view(const Tensor& source, const Context& to, const MapOptions& options) {
  source.memory()->wait_for(options.access, deadline_of(options), &ledger_of(options));
  return host_view(source, to, kCpuMemory, options.access, nullptr);
}

/// Host and shared USM is host memory; device USM is copied out.
class UsmToCpu final : public Edge {
 public:
  std::string_view name() const override { return "opencl.usm->cpu"; }
  MemoryKind from() const override { return kUsmMemory; }
  MemoryKind to() const override { return kCpuMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const Native* native = native_of(from.context);
    if (!native) return Refusal{"the source is not memory of this framework"};
    return from.host_addressable ? shared_in_place(from, to, kCpuMemory, 100) : host_copy(from, to, *native);
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    if (source.is_host_addressable()) return through_host_view(source, to, options);
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    const auto& context = *source.context().as<UsmContext>();
    Tensor copy(source.element_type(), source.shape());
    if (copy.size_bytes() == 0) return copy;
    context.read_now(source, copy.memory(), deadline_of(options));
    if (!context.native().device.host_unified) ledger_of(options).book_transferred(id(), source.size_bytes());
    return copy;
  }
};

/// Host memory as USM: in place if the device accepts any host pointer, else copied into host USM.
class CpuToUsm final : public Edge {
 public:
  std::string_view name() const override { return "cpu->opencl.usm"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kUsmMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const auto* context = to.as<UsmContext>();
    if (!context) return Refusal{"the target is not a context of this framework"};
    if (context->usm()->functions.any_host_pointer) return shared_in_place(from, to, kUsmMemory, 100);
    if (!context->usm()->functions.host_type)
      return Refusal{context->native().device.name + " takes neither host pointers as USM nor has host USM to copy to"};
    Reached reached = copied(from, to, kUsmMemory, 20'000, 0.1);
    reached.result.memory_bytes = std::max<std::size_t>(reached.result.memory_bytes, 1);  // Empty USM does not exist.
    reached.result.host_addressable = true;
    reached.result.alignment = 64;
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    const Reached reached = reach(*this, source, to, options);
    auto& context = *to.as<UsmContext>();
    const Memory& memory = *source.memory();
    if (reached.copies) {
      memory.wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
      Tensor copy = opencl::allocate_usm(to, UsmType::kHost, {source.element_type(), source.shape(), {}});
      source.copy_to(copy);
      return copy;
    }
    const View* view = memory.find_view(context, kUsmMemory, options.access);
    if (!view) {
      void* const host = source.view() ? source.view()->host() : memory.host();
      auto made = std::make_unique<UsmView>(to, memory.read_only() ? Access::kRead : Access::kReadWrite, host, host);
      made->set_standing(id());
      view = &memory.add_view(std::move(made));
    }
    return source.through(view);
  }
};

class UsmToBuffer final : public Edge {
 public:
  std::string_view name() const override { return "opencl.usm->opencl.buffer"; }
  MemoryKind from() const override { return kUsmMemory; }
  MemoryKind to() const override { return kBufferMemory; }
  Step step(const Description&, const Context&, Access) const override {
    return Refusal{
        "OpenCL makes no cl_mem over USM; host and shared USM goes over its host address, where the device "
        "shares host memory"};
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    return {};
  }
};

/// The host's view of coarse-grained SVM on devices where both see each other's writes at once: mapped as long as the
/// memory lives.
class StandingSvmMap final : public View {
 public:
  StandingSvmMap(Context context, Access access, Ref<Native> native, std::unique_ptr<MappedSvm> mapped)
      : View(std::move(context), kCpuMemory, access, mapped->data()),
        native_(std::move(native)),
        mapped_(std::move(mapped)) {}

 private:
  Ref<Native> native_;
  std::unique_ptr<MappedSvm> mapped_;
};

/// Fine-grained SVM is host memory; coarse-grained SVM is mapped on CPU devices and copied out elsewhere.
class SvmToCpu final : public Edge {
 public:
  std::string_view name() const override { return "opencl.svm->cpu"; }
  MemoryKind from() const override { return kSvmMemory; }
  MemoryKind to() const override { return kCpuMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const Native* native = native_of(from.context);
    if (!native) return Refusal{"the source is not memory of this framework"};
    if (from.host_addressable) return shared_in_place(from, to, kCpuMemory, 100);
    if (native->coherency != Coherency::kStanding) return host_copy(from, to, *native);
    Reached reached = shared_in_place(from, to, kCpuMemory, 30'000);
    reached.result.host_addressable = true;
    reached.result.alignment = 64;
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    const Reached reached = reach(*this, source, to, options);
    if (source.is_host_addressable()) return through_host_view(source, to, options);
    const Memory& memory = *source.memory();
    const auto& context = *source.context().as<SvmContext>();
    memory.wait_for(options.access, deadline_of(options), &ledger_of(options));
    if (reached.copies) {
      Tensor copy(source.element_type(), source.shape());
      if (copy.size_bytes() == 0) return copy;
      context.read_now(source, copy.memory(), deadline_of(options));
      if (!context.native().device.host_unified) ledger_of(options).book_transferred(id(), source.size_bytes());
      return copy;
    }
    const View* view = memory.find_view(*to, kCpuMemory, options.access);
    if (!view) {
      std::lock_guard lock(context.native().map_mutex);
      view = memory.find_view(*to, kCpuMemory, options.access);
      if (!view) {
        void* const data = static_cast<const SvmMemory&>(memory).data();
        view = &memory.add_view(std::make_unique<StandingSvmMap>(
            to, Access::kReadWrite, context.native_ref(),
            std::make_unique<MappedSvm>(context.native(), CL_MAP_READ | CL_MAP_WRITE, data, memory.size_bytes(),
                                        deadline_of(options))));
      }
    }
    return source.through(view);
  }
};

/// Host memory as SVM: in place if the device has fine-grained system SVM, else copied into SVM.
class CpuToSvm final : public Edge {
 public:
  std::string_view name() const override { return "cpu->opencl.svm"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kSvmMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const auto* context = to.as<SvmContext>();
    if (!context) return Refusal{"the target is not a context of this framework"};
    if (context->has_system()) return shared_in_place(from, to, kSvmMemory, 100);
    Reached reached = copied(from, to, kSvmMemory, 20'000, 0.1);
    reached.result.memory_bytes = std::max<std::size_t>(reached.result.memory_bytes, 1);  // Empty SVM does not exist.
    reached.result.host_addressable = context->has_fine_grained();
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    const Reached reached = reach(*this, source, to, options);
    auto& context = *to.as<SvmContext>();
    const Memory& memory = *source.memory();
    if (reached.copies) {
      memory.wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
      const bool fine = context.has_fine_grained();
      Tensor copy = opencl::allocate_svm(to, fine ? SvmGrain::kFine : SvmGrain::kCoarse,
                                         {source.element_type(), source.shape(), {}});
      if (fine) {
        source.copy_to(copy);
      } else if (copy.size_bytes() != 0) {
        MappedSvm mapped(context.native(), CL_MAP_WRITE_INVALIDATE_REGION, svm_pointer(copy), copy.size_bytes(),
                         deadline_of(options));
        Tensor packed(source.element_type(), source.shape(), mapped.data());
        source.copy_to(packed);
        copy.memory()->hazards().wrote(TimelinePoint(EventTimeline::over(mapped.end()), 1));
      }
      if (!context.native().device.host_unified) ledger_of(options).book_transferred(id(), source.size_bytes());
      return copy;
    }
    const View* view = memory.find_view(context, kSvmMemory, options.access);
    if (!view) {
      void* const host = source.view() ? source.view()->host() : memory.host();
      auto made =
          std::make_unique<SvmView>(to, kSvmMemory, memory.read_only() ? Access::kRead : Access::kReadWrite, host);
      made->set_standing(id());
      view = &memory.add_view(std::move(made));
    }
    return source.through(view);
  }
};

/// A buffer over SVM: OpenCL guarantees that CL_MEM_USE_HOST_PTR over an SVM pointer uses that memory.
class SvmToBuffer final : public Edge {
 public:
  std::string_view name() const override { return "opencl.svm->opencl.buffer"; }
  MemoryKind from() const override { return kSvmMemory; }
  MemoryKind to() const override { return kBufferMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const Native *source = native_of(from.context), *target = native_of(to);
    if (!source || !target) return Refusal{"source or target is not a context of this framework"};
    if (source->context.get() != target->context.get()) return Refusal{"the SVM belongs to another cl_context"};
    if (from.memory_bytes > target->device.max_allocation)
      return Refusal{"the memory is larger than the largest buffer"};
    Reached reached = shared_in_place(from, to, kBufferMemory, 500);
    reached.result.host_addressable = from.host_addressable;
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Memory& memory = *source.memory();
    const View* view = memory.find_view(*to, kBufferMemory, options.access);
    if (!view) {
      const auto& target = *to.as<FacetContext>();
      void* const data = static_cast<std::byte*>(svm_pointer(source)) - source.offset();
      auto made = std::make_unique<BufferView>(to, memory.read_only() ? Access::kRead : Access::kReadWrite,
                                               source.view() ? source.view()->host() : memory.host(),
                                               make_buffer(target.native(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                                           memory.size_bytes(), data, "a buffer over SVM"));
      made->set_standing(id());
      view = &memory.add_view(std::move(made));
    }
    return through_buffer(source, *view, options);
  }
};

inline const UsmToCpu usm_to_cpu;
inline const CpuToUsm cpu_to_usm;
inline const UsmToBuffer usm_to_buffer;
inline constexpr const Edge* kUsmEdges[] = {&usm_to_cpu, &cpu_to_usm, &usm_to_buffer};
inline const SvmToCpu svm_to_cpu;
inline const CpuToSvm cpu_to_svm;
inline const SvmToBuffer svm_to_buffer;
inline constexpr const Edge* kSvmEdges[] = {&svm_to_cpu, &cpu_to_svm, &svm_to_buffer};

}  // namespace detail

inline std::span<const Edge* const> UsmContext::edges() const { return detail::kUsmEdges; }
inline std::span<const Edge* const> SvmContext::edges() const { return detail::kSvmEdges; }

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
