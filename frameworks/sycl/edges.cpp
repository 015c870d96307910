// SPDX-License-Identifier: Apache-2.0
// What SYCL's USM is like for the edges between host memory and memory that a pointer names.
#include <tenon/frameworks/sycl/edges.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include <tenon/core/host_edge.hpp>
#include <tenon/core/pointer_edges.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/standing_view.hpp>
#include <tenon/frameworks/sycl/context.hpp>

namespace tenon {
inline namespace v1 {
namespace sycl {
namespace detail {

inline constexpr const char* kNotOurs = "source or target is not a context of sycl";

/// Host and shared USM is the host's memory, too; device USM is copied by the device. Host memory is used in place on
/// devices whose kernels take any pointer, and else copied: to the device, or on a CPU to host USM.
class UsmTraits final : public PointerTraits {
 public:
  UsmTraits() : PointerTraits({kUsmMemory, kNotOurs, kNotOurs}) {}
  bool owns(const Context& context) const override { return context.as<UsmContext>() != nullptr; }

  Step in_place(const Description& from, const Context& to, Access access) const override {
    const Native& native = native_of(to);
    if (!native.takes_any_pointer())
      return Refusal{native.name + " takes only pointers of USM (it lacks the aspect usm_system_allocations)"};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    return shared_in_place(from, to, kUsmMemory, 100);
  }
  std::unique_ptr<View> view_of_host(const Tensor& source, const Context& to) const override {
    void* const host = host_base(source);
    return std::make_unique<UsmView>(to, widest_access(source), host, host);
  }
  /// All memory that may be shared for reading: SYCL asks for no alignment.
  bool leaves_to_sharing(const Description& from, const Context& to, Access /*access*/) const override {
    return std::holds_alternative<Reached>(in_place(from, to, Access::kRead));
  }

  CopyTerms copies_out(const Context&) const override { return {30'000, 0.1}; }
  Tensor copy_out(const Tensor& source, Deadline deadline) const override {
    Tensor copy(source.element_type(), source.shape());
    source.context().as<UsmContext>()->copy_now(source, copy.memory(), true, deadline);
    return copy;
  }
  bool transfers_out(const Context& from) const override { return !native_of(from).device.is_cpu(); }

  std::variant<CopyTerms, Refusal> copies_in(const Context& to) const override {
    const Native& native = native_of(to);
    const UsmType type = type_for_copies(native);
    if (!native.has(type))
      return Refusal{native.name + " has no " + sycl::name(type) + " USM to copy into (its aspects)"};
    const bool is_host = type == UsmType::kHost;
    return CopyTerms{20'000, 0.1, is_host ? std::size_t{64} : std::size_t{1}, is_host};
  }
  Ref<Memory> allocate_copy(const Context& to, std::size_t size_bytes) const override {
    Requirements wanted;
    wanted.size_bytes = size_bytes;
    return to.as<UsmContext>()->allocate(wanted, type_for_copies(native_of(to)));
  }
  void copy_in(const Tensor& source, Tensor& copy, Deadline deadline) const override {
    if (copy.is_host_addressable()) return source.copy_to(copy);
    Tensor packed(source.element_type(), source.shape());
    source.copy_to(packed);
    copy.context().as<UsmContext>()->copy_now(copy, packed.memory(), false, deadline);
  }

 private:
  static const Native& native_of(const Context& context) { return context.as<UsmContext>()->native(); }
  static UsmType type_for_copies(const Native& native) {
    return native.device.is_cpu() ? UsmType::kHost : UsmType::kDevice;
  }
};

/// Contexts over one sycl::context share their memory.
class UsmToUsm final : public PointerToPointer {
 public:
  using PointerToPointer::PointerToPointer;

 private:
  std::string obstacle(const Context& from, const Context& to) const override {
    return from.as<UsmContext>()->native().context == to.as<UsmContext>()->native().context
               ? ""
               : "the memory belongs to another sycl::context: it passes over the host";
  }
  std::unique_ptr<View> make_view(const Tensor& source, const Context& to) const override {
    void* const data = static_cast<std::byte*>(usm_pointer(source)) - source.offset();
    return std::make_unique<UsmView>(to, widest_access(source), host_base(source), data);
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

TENON_INLINE std::span<const Edge* const> UsmContext::edges() const { return detail::usm_edges(); }

}  // namespace sycl
}  // namespace v1
}  // namespace tenon
