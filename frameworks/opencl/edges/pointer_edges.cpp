// SPDX-License-Identifier: Apache-2.0
// What OpenCL's USM and SVM are like for the edges between host memory and memory that a pointer names.
#include <tenon/frameworks/opencl/pointer_edges.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <tenon/core/host_edge.hpp>
#include <tenon/core/pointer_edges.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/standing_view.hpp>
#include <tenon/frameworks/opencl/access.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/buffer_edges.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/event.hpp>
#include <tenon/frameworks/opencl/svm.hpp>
#include <tenon/frameworks/opencl/usm.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

/// What USM and SVM have in common.
class OpenclTraits : public PointerTraits {
 public:
  explicit OpenclTraits(MemoryKind kind)
      : PointerTraits(
            {kind, "the source is not memory of this framework", "the target is not a context of this framework"}) {}

  CopyTerms copies_out(const Context& from) const final {
    return {20'000, native_of(from)->device.host_unified ? 0.1 : 0.2};
  }
  Tensor copy_out(const Tensor& source, Deadline deadline) const final {
    Tensor copy(source.element_type(), source.shape());
    static_cast<const PointerContext&>(*source.context()).read_now(source, copy.memory(), deadline);
    return copy;
  }
  bool transfers_out(const Context& from) const final { return !native_of(from)->device.host_unified; }
};

/// Host memory is USM in place if the device accepts any host pointer, else it is copied into host USM.
class UsmTraits final : public OpenclTraits {
 public:
  UsmTraits() : OpenclTraits(kUsmMemory) {}
  bool owns(const Context& context) const override { return context.as<UsmContext>() != nullptr; }

  Step in_place(const Description& from, const Context& to, Access /*access*/) const override {
    if (!functions(to).any_host_pointer) return Refusal{"the device takes no host pointers as USM"};
    return shared_in_place(from, to, kUsmMemory, 100);
  }
  std::unique_ptr<View> view_of_host(const Tensor& source, const Context& to) const override {
    void* const host = host_base(source);
    return std::make_unique<UsmView>(to, widest_access(source), host, host);
  }
  std::variant<CopyTerms, Refusal> copies_in(const Context& to) const override {
    if (!functions(to).host_type)
      return Refusal{native_of(to)->device.name + " takes neither host pointers as USM nor has host USM to copy to"};
    return CopyTerms{20'000, 0.1};
  }
  Ref<Memory> allocate_copy(const Context& to, std::size_t size_bytes) const override {
    Requirements wanted;
    wanted.size_bytes = size_bytes;
    return to.as<UsmContext>()->allocate(wanted, UsmType::kHost);
  }

 private:
  static const UsmFunctions& functions(const Context& context) { return context.as<UsmContext>()->usm()->functions; }
};

/// Host and shared USM is host memory; device USM is copied out.
class UsmToCpu final : public PointerToCpu {
 public:
  using PointerToCpu::PointerToCpu;
  /// What is read-only stays so: the router sees to it.
  Step step(const Description& from, const Context& to, Access /*access*/) const override {
    return PointerToCpu::step(from, to, Access::kRead);
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

/// Host memory is SVM in place if the device has fine-grained system SVM, else it is copied into SVM.
class SvmTraits final : public OpenclTraits {
 public:
  SvmTraits() : OpenclTraits(kSvmMemory) {}
  bool owns(const Context& context) const override { return context.as<SvmContext>() != nullptr; }

  Step in_place(const Description& from, const Context& to, Access /*access*/) const override {
    if (!to.as<SvmContext>()->has_system()) return Refusal{"the device has no fine-grained system SVM"};
    return shared_in_place(from, to, kSvmMemory, 100);
  }
  std::unique_ptr<View> view_of_host(const Tensor& source, const Context& to) const override {
    return std::make_unique<SvmView>(to, kSvmMemory, widest_access(source), host_base(source));
  }
  std::variant<CopyTerms, Refusal> copies_in(const Context& to) const override {
    return CopyTerms{20'000, 0.1, 1, to.as<SvmContext>()->has_fine_grained()};
  }
  Ref<Memory> allocate_copy(const Context& to, std::size_t size_bytes) const override {
    auto& context = *to.as<SvmContext>();
    Requirements wanted;
    wanted.size_bytes = size_bytes;
    return context.allocate(wanted, context.has_fine_grained());
  }
  void copy_in(const Tensor& source, Tensor& copy, Deadline deadline) const override {
    if (copy.is_host_addressable()) return source.copy_to(copy);
    MappedSvm mapped(*native_of(copy.context()), CL_MAP_WRITE_INVALIDATE_REGION, svm_pointer(copy), copy.size_bytes(),
                     deadline);
    Tensor packed(source.element_type(), source.shape(), mapped.data());
    source.copy_to(packed);
    copy.memory()->hazards().wrote(TimelinePoint(EventTimeline::over(mapped.end()), 1));
  }
  bool transfers_in(const Tensor& copy) const override { return !native_of(copy.context())->device.host_unified; }
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
class SvmToCpu final : public PointerToCpu {
 public:
  using PointerToCpu::PointerToCpu;

  Step step(const Description& from, const Context& to, Access /*access*/) const override {
    const Native* const native = native_of(from.context);
    if (!native || from.host_addressable || native->coherency != Coherency::kStanding)
      return PointerToCpu::step(from, to, Access::kRead);
    Reached reached = shared_in_place(from, to, kCpuMemory, 30'000);
    reached.result.host_addressable = true;
    reached.result.alignment = 64;
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    if (source.is_host_addressable() || reach(*this, source, to, options).copies)
      return PointerToCpu::map(source, to, options);
    const Memory& memory = *source.memory();
    const auto& context = *source.context().as<SvmContext>();
    memory.wait_for(options.access, deadline_of(options), &ledger_of(options));
    const View* view = memory.find_view(*to, kCpuMemory, options.access);
    if (!view) {
      const std::lock_guard lock(context.native().map_mutex);
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
      void* const data = static_cast<std::byte*>(svm_pointer(source)) - source.offset();
      auto made =
          std::make_unique<BufferView>(to, memory.read_only() ? Access::kRead : Access::kReadWrite, host_base(source),
                                       make_buffer(*native_of(to), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                                   memory.size_bytes(), data, "a buffer over SVM"));
      made->set_standing(id());
      view = &memory.add_view(std::move(made));
    }
    return through_buffer(source, *view, options);
  }
};

struct UsmEdges {
  UsmTraits traits;
  UsmToCpu usm_to_cpu{traits};
  CpuToPointerEither cpu_to_usm{traits};
  UsmToBuffer usm_to_buffer;
  const Edge* const all[3] = {&usm_to_cpu, &cpu_to_usm, &usm_to_buffer};
};
struct SvmEdges {
  SvmTraits traits;
  SvmToCpu svm_to_cpu{traits};
  CpuToPointerEither cpu_to_svm{traits};
  SvmToBuffer svm_to_buffer;
  const Edge* const all[3] = {&svm_to_cpu, &cpu_to_svm, &svm_to_buffer};
};

TENON_INLINE std::span<const Edge* const> usm_edges() {
  static const auto* const edges = new UsmEdges;  // Outlives static destructors.
  return edges->all;
}
TENON_INLINE std::span<const Edge* const> svm_edges() {
  static const auto* const edges = new SvmEdges;  // Outlives static destructors.
  return edges->all;
}

}  // namespace detail

TENON_INLINE std::span<const Edge* const> UsmContext::edges() const { return detail::usm_edges(); }
TENON_INLINE std::span<const Edge* const> SvmContext::edges() const { return detail::svm_edges(); }

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
