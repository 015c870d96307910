// SPDX-License-Identifier: Apache-2.0
// Vulkan's exported buffers in CUDA and CUDA's exported memory in Vulkan, by opaque descriptors.
#include <tenon/bridges/vulkan_cuda/edges.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/standing_view.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cuda/client.hpp>
#include <tenon/frameworks/cuda/context.hpp>
#include <tenon/frameworks/vulkan/client.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan_cuda {
namespace detail {

namespace abi = cuda::abi;

/// Vulkan's memory at an address of CUDA's.
class Import final : public RefCounted {
 public:
  /// `fd` stays the caller's. @errors those of native calls.
  static Ref<Import> of(const Ref<cuda::client::Native>& native, int fd, std::size_t size) {
    Ref<Import> made(new Import(native));
    const auto what = [&] {
      return "importing " + std::to_string(size) + " bytes of Vulkan's on " + native->device.name;
    };
    const cuda::client::Current current(native->handle());
    UniqueFd given = UniqueFd::duplicate(fd);
    abi::ExternalMemory wanted;
    wanted.handle.fd = given.get();
    wanted.size = size;
    cuda::client::check(cuda::client::call(cuda::client::driver().cuImportExternalMemory, &made->memory_, &wanted),
                        "cuImportExternalMemory", what);
    (void)given.release();  // It is the driver's from here on.
    cuda::client::Probe::handles.fetch_add(1, std::memory_order_relaxed);
    abi::ExternalBuffer whole;
    whole.size = size;
    cuda::client::check(
        cuda::client::call(cuda::client::driver().cuExternalMemoryGetMappedBuffer, &made->data_, made->memory_, &whole),
        "cuExternalMemoryGetMappedBuffer", what);
    return made;
  }
  ~Import() override {
    const cuda::client::Current current(native_->handle(), std::nothrow);
    if (data_) cuda::client::driver().cuMemFree(data_);
    if (!memory_) return;
    cuda::client::driver().cuDestroyExternalMemory(memory_);
    cuda::client::Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }
  abi::DevicePointer data() const { return data_; }

 private:
  explicit Import(Ref<cuda::client::Native> native) : native_(std::move(native)) {}
  Ref<cuda::client::Native> native_;
  abi::External memory_ = nullptr;
  abi::DevicePointer data_ = 0;
};

inline constexpr const char* kNotOurs = "source or target is not a context of Vulkan's buffers and of CUDA";

/// Vulkan's exported memory in place, imported once; CUDA's own comes back as it was.
class VulkanToCuda final : public StandingEdge {
 public:
  VulkanToCuda() : StandingEdge("vulkan.buffer->cuda", vulkan::kBufferMemory, cuda::kCudaMemory) {}

  Step step(const Description& from, const Context& to, Access access) const override {
    if (!from.context.as<vulkan::BufferContext>() || !to.as<cuda::CudaContext>()) return Refusal{kNotOurs};
    if (from.fd == FdKind::kCudaFd) {
      if (auto refusal = refuses_import(from, to)) return *std::move(refusal);
    } else {
      if (!from.fd.serves(FdKind::kOpaqueFd))
        return Refusal{"the memory has no opaque descriptor: allocate it with vulkan::allocate_exported"};
      if (auto refusal = refuses_import(from, to)) return *std::move(refusal);
      if (!cuda::client::driver().cuImportExternalMemory || !cuda::client::driver().cuExternalMemoryGetMappedBuffer)
        return Refusal{"the driver of CUDA imports no memory of other APIs (cuImportExternalMemory)"};
    }
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    Reached reached = shared_in_place(from, to, cuda::kCudaMemory, 50'000);
    reached.result.host_addressable = false;
    reached.result.alignment = 1;
    return reached;
  }

 private:
  std::unique_ptr<View> make_view(const Tensor& source, const Context& to) const override {
    const Memory& memory = *source.memory();
    if (memory.fd_kind() == FdKind::kCudaFd)
      return std::make_unique<cuda::CudaView>(to, widest_access(source), nullptr, home_address(memory, to),
                                              Ref<RefCounted>());
    Ref<Import> import = Import::of(to.as<cuda::CudaContext>()->native_ref(), memory.borrow_fd(), memory.size_bytes());
    const abi::DevicePointer data = import->data();
    return std::make_unique<cuda::CudaView>(to, widest_access(source), nullptr, data, std::move(import));
  }
  /// Memory of CUDA's that another of its contexts maps.
  abi::DevicePointer home_address(const Memory& memory, const Context& to) const {
    const auto* own = dynamic_cast<const cuda::CudaMemory*>(&memory);
    if (!own || cuda::handle(memory.context()) != cuda::handle(to))
      throw Error(Code::kFailedPrecondition, std::string(name()) +
                                                 ": the memory belongs to another CUcontext than that of " +
                                                 std::string(to->name()) + "; map it to its own, or over the host");
    return own->data();
  }
};

/// CUDA's exported memory in place, imported once; Vulkan's own comes back as it was.
class CudaToVulkan final : public StandingEdge {
 public:
  CudaToVulkan() : StandingEdge("cuda->vulkan.buffer", cuda::kCudaMemory, vulkan::kBufferMemory) {}

  Step step(const Description& from, const Context& to, Access access) const override {
    const auto* buffers = to.as<vulkan::BufferContext>();
    if (!from.context.as<cuda::CudaContext>() || !buffers) return Refusal{kNotOurs};
    const bool home = from.fd.serves(FdKind::kOpaqueFd) && from.fd != FdKind::kNone;
    if (!home && !(from.fd == FdKind::kCudaFd))
      return Refusal{
          "the memory has no descriptor (memory of cudaMalloc never has): allocate it with cuda::allocate_exported"};
    if (auto refusal = refuses_import(from, to)) return *std::move(refusal);
    if (!vulkan::client::imports_opaque(buffers->native()))
      return Refusal{buffers->native().device().name + " imports no opaque descriptors (VK_KHR_external_memory_fd)"};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    Reached reached = shared_in_place(from, to, vulkan::kBufferMemory, 50'000);
    reached.result.host_addressable = false;
    reached.result.alignment = 1;
    return reached;
  }

 private:
  std::unique_ptr<View> make_view(const Tensor& source, const Context& to) const override {
    const Memory& memory = *source.memory();
    const Ref<vulkan::client::Native>& native = to.as<vulkan::BufferContext>()->native_ref();
    return std::make_unique<vulkan::BufferView>(
        to, widest_access(source), nullptr, native,
        vulkan::client::import_block(native, memory.borrow_fd(), vulkan::client::Origin::kOpaque, memory.size_bytes()));
  }
};

struct Edges {
  VulkanToCuda vulkan_to_cuda;
  CudaToVulkan cuda_to_vulkan;
  const Edge* const all[2] = {&vulkan_to_cuda, &cuda_to_vulkan};
};

}  // namespace detail

TENON_INLINE std::span<const Edge* const> edges() {
  static const auto* const made = new detail::Edges;  // Outlives static destructors.
  return made->all;
}

}  // namespace vulkan_cuda
}  // namespace v1
}  // namespace tenon
