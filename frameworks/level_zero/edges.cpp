// SPDX-License-Identifier: Apache-2.0
// What Level Zero's USM is like for the edges between host memory and memory that a pointer names.
#include <tenon/frameworks/level_zero/edges.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/pointer_edges.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/standing_view.hpp>
#include <tenon/frameworks/cpu/pages.hpp>
#include <tenon/frameworks/level_zero/system_import.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

/// USM with a host address is shared as host memory; other USM is copied out by the device, into driver host memory. Host
/// memory is used in place: any pointer if the device accepts that, else whole pages, imported once; other host memory is
/// copied into driver host memory.
class UsmTraits final : public PointerTraits {
 public:
  UsmTraits() : PointerTraits({kUsmMemory, kNotOurs, kNotOurs, 64, false}) {}
  bool owns(const Context& context) const override { return native_of(context) != nullptr; }

  Step in_place(const Description& from, const Context& to, Access access) const override {
    const Device& device = native_of(to)->device;
    if (std::string reason = obstacle(device, from, access); !reason.empty()) return Refusal{std::move(reason)};
    return shared_in_place(from, to, kUsmMemory, device.takes_any_pointer() ? 100 : 20'000);
  }
  std::unique_ptr<View> view_of_host(const Tensor& source, const Context& to) const override {
    const Memory& memory = *source.memory();
    if (memory.kind() == kUsmMemory)
      throw Error(Code::kFailedPrecondition, "cpu->level_zero.usm: the pages are those of " +
                                                 std::string(memory.context()->name()) +
                                                 " already; map that memory itself, not the CPU's view of it");
    const auto& context = *to.as<UsmContext>();
    void* const host = host_base(source);
    Ref<RefCounted> import;
    if (!context.native().device.takes_any_pointer())
      import = SystemImport::of(context.native_ref(), host, memory.size_bytes());
    return std::make_unique<UsmView>(to, widest_access(source), host, host, UsmBlock(), std::move(import));
  }

  CopyTerms copies_out(const Context& from) const override {
    return {20'000, native_of(from)->device.integrated ? 0.1 : 0.2};
  }
  Tensor copy_out(const Tensor& source, Deadline deadline) const override {
    // The driver's host memory under the CPU's name; freed with it.
    Ref<Memory> staged = source.context().as<UsmContext>()->read_now(source, deadline);
    void* const host = staged->host();
    const std::size_t size = staged->size_bytes();
    return Tensor({source.element_type(), source.shape(), {}},
                  HostMemory::borrow(host, size, false, [staged = std::move(staged)]() mutable { staged = {}; }));
  }
  bool transfers_out(const Context& from) const override { return !native_of(from)->device.integrated; }

  std::variant<CopyTerms, Refusal> copies_in(const Context& to) const override {
    const Device& device = native_of(to)->device;
    if (!device.takes_host()) return Refusal{device.name + " takes no host memory to copy into"};
    return CopyTerms{5'000, 0.1};
  }
  Ref<Memory> allocate_copy(const Context& to, std::size_t size_bytes) const override {
    Requirements wanted;
    wanted.size_bytes = size_bytes;
    return to.as<UsmContext>()->allocate(wanted, UsmType::kHost);
  }

 private:
  static std::string obstacle(const Device& device, const Description& from, Access access) {
    if (writes(access) && from.read_only) return "the memory is read-only";
    if (device.takes_any_pointer()) return {};
    if (!device.imports_system_memory())
      return device.name + " imports no memory of the system (" + abi::kSystemMemoryExtension +
             " is not among its driver's extensions)";
    if (from.read_only) return "the memory is read-only, and system memory is imported for reading and writing";
    const std::size_t page = cpu::page_bytes();
    return not_whole_pages(from, page,
                           ": " + device.name + " imports whole pages of " + std::to_string(page) + " bytes");
  }
};

/// Contexts over one ze_context share their memory; others exchange it only by export and import.
class UsmToUsm final : public PointerToPointer {
 public:
  using PointerToPointer::PointerToPointer;

 private:
  std::string obstacle(const Context& from, const Context& to) const override {
    return native_of(from)->context.get() == native_of(to)->context.get()
               ? ""
               : "the memory belongs to another ze_context: it passes as a dma-buf, or over the host";
  }
  std::unique_ptr<View> make_view(const Tensor& source, const Context& to) const override {
    void* const data = static_cast<std::byte*>(usm_pointer(source)) - source.offset();
    return std::make_unique<UsmView>(to, widest_access(source), host_base(source), data, UsmBlock());
  }
};

struct UsmEdges {
  UsmTraits traits;
  PointerToCpu usm_to_cpu{traits};
  CpuToPointer cpu_to_usm{traits};
  CpuToPointerCopy cpu_to_usm_copy{traits};
  UsmToUsm usm_to_usm{traits};
  const Edge* const all[4] = {&usm_to_cpu, &cpu_to_usm, &cpu_to_usm_copy, &usm_to_usm};
};

TENON_INLINE std::span<const Edge* const> usm_edges() {
  static const auto* const edges = new UsmEdges;  // Outlives static destructors.
  return edges->all;
}

}  // namespace detail
}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
