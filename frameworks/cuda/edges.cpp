// SPDX-License-Identifier: Apache-2.0
// What CUDA's memory is like for the edges between host memory and memory that a pointer names.
#include <tenon/frameworks/cuda/edges.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/pointer_edges.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/standing_view.hpp>
#include <tenon/frameworks/cpu/pages.hpp>
#include <tenon/frameworks/cuda/context.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {
namespace detail {

inline constexpr const char* kNotOurs = "source or target is not a context of cuda";
/// PCIe 5 carries some 50 bytes a nanosecond, PCIe 4 half of that.
inline constexpr double kTransferNsPerByte = 0.03;

/// Pinned and managed memory is shared as host memory, device memory is copied by the device. Host memory is used in
/// place where it consists of whole pages, which are pinned once: the device reads and writes them over its bus.
class CudaTraits final : public PointerTraits {
 public:
  CudaTraits() : PointerTraits({kCudaMemory, kNotOurs, kNotOurs, 64}) {}
  bool owns(const Context& context) const override { return context.as<CudaContext>() != nullptr; }

  Step in_place(const Description& from, const Context& to, Access access) const override {
    const Device& device = to.as<CudaContext>()->native().device;
    if (from.read_only)
      return Refusal{writes(access) ? "the memory is read-only"
                                    : "the memory is read-only, and CUDA pins pages for writing"};
    if (!device.registers_host) return Refusal{device.name + " pins no memory of others (its attributes)"};
    const std::size_t page = cpu::page_bytes();
    std::string reason =
        not_whole_pages(from, page, ": CUDA pins whole pages of " + std::to_string(page) + " bytes in place");
    if (!reason.empty()) return Refusal{std::move(reason)};
    Reached reached = shared_in_place(from, to, kCudaMemory, 50'000);
    reached.ns_per_byte = device.integrated ? 0 : kTransferNsPerByte;
    return reached;
  }
  std::unique_ptr<View> view_of_host(const Tensor& source, const Context& to) const override {
    const auto& context = *to.as<CudaContext>();
    void* const host = host_base(source);
    Ref<RefCounted> pinned = PinnedPages::of(context.native_ref(), host, source.memory()->size_bytes());
    abi::DevicePointer data = 0;
    const Current current(context.native().handle());
    check(call(driver().cuMemHostGetDevicePointer, &data, host, 0u), "cuMemHostGetDevicePointer",
          [&] { return "asking for the device's address of " + to_string(source); });
    return std::make_unique<CudaView>(to, widest_access(source), host, data, std::move(pinned));
  }

  CopyTerms copies_out(const Context&) const override { return {20'000, kTransferNsPerByte}; }
  Tensor copy_out(const Tensor& source, Deadline deadline) const override {
    Tensor copy(source.element_type(), source.shape());
    copy_elements(source.context().as<CudaContext>()->native_ref(), source, copy.memory(), Side::host(copy.data()),
                  Direction::kOut, deadline);
    return copy;
  }
  bool transfers_out(const Context&) const override { return true; }

  std::variant<CopyTerms, Refusal> copies_in(const Context&) const override {
    return CopyTerms{20'000, kTransferNsPerByte, 1, false};
  }
  Ref<Memory> allocate_copy(const Context& to, std::size_t size_bytes) const override {
    Requirements wanted;
    wanted.size_bytes = size_bytes;
    return to.as<CudaContext>()->allocate(wanted, MemoryType::kDevice);
  }
  void copy_in(const Tensor& source, Tensor& copy, Deadline deadline) const override {
    Tensor packed = source;
    if (!source.is_contiguous()) {
      packed = Tensor(source.element_type(), source.shape());
      source.copy_to(packed);
    }
    copy_elements(copy.context().as<CudaContext>()->native_ref(), copy, packed.memory(), Side::host(packed.data()),
                  Direction::kIn, deadline);
  }
};

class CudaToCuda final : public PointerToPointer {
 public:
  using PointerToPointer::PointerToPointer;

 private:
  std::string obstacle(const Context& from, const Context& to) const override {
    const Native &source = from.as<CudaContext>()->native(), &target = to.as<CudaContext>()->native();
    if (source.handle() == target.handle()) return {};
    return "the memory belongs to another CUcontext (of " + source.device.name + "): it passes over the host";
  }
  std::unique_ptr<View> make_view(const Tensor& source, const Context& to) const override {
    return std::make_unique<CudaView>(to, widest_access(source), host_base(source), pointer(source) - source.offset(),
                                      Ref<RefCounted>());
  }
};

struct CudaEdges {
  CudaTraits traits;
  PointerToCpu cuda_to_cpu{traits};
  CpuToPointer cpu_to_cuda{traits};
  CpuToPointerCopy cpu_to_cuda_copy{traits};
  CudaToCuda cuda_to_cuda{traits};
  const Edge* const all[4] = {&cuda_to_cpu, &cpu_to_cuda, &cpu_to_cuda_copy, &cuda_to_cuda};
  static const CudaEdges& process() {
    static const auto* const edges = new CudaEdges;  // Outlives static destructors.
    return *edges;
  }
};

TENON_INLINE const Edge& cuda_to_cuda() { return CudaEdges::process().cuda_to_cuda; }

}  // namespace detail

TENON_INLINE std::span<const Edge* const> CudaContext::edges() const { return detail::CudaEdges::process().all; }
}  // namespace cuda
}  // namespace v1
}  // namespace tenon
