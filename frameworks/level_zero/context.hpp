// SPDX-License-Identifier: Apache-2.0
// A ze_context with one device as a Tenon context, and its unified shared memory (USM).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cpu/fd.hpp>
#include <tenon/frameworks/level_zero/transfer.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {

/// `Tensor::kind()` of memory that a ze_context allocated or imported.
inline constexpr MemoryKind kUsmMemory{"level_zero.usm"};

/// Where the bytes are: host, device, or wherever they were last accessed.
enum class UsmType : std::uint8_t { kHost, kDevice, kShared };
constexpr const char* name(UsmType type) {
  return type == UsmType::kHost ? "host" : type == UsmType::kDevice ? "device" : "shared";
}

/// Hints to the driver that do not change an allocation's meaning. @source ze_host_mem_alloc_flags_t,
/// ze_device_mem_alloc_flags_t
struct UsmHints {
  ze_host_mem_alloc_flags_t host = 0;      ///< Bias: cached, uncached, write-combined (only written by the host).
  ze_device_mem_alloc_flags_t device = 0;  ///< Bias: cached, uncached, initial placement.
};

namespace detail {

/// Owns one allocation or import.
class UsmBlock {
 public:
  UsmBlock() = default;
  UsmBlock(Ref<Native> native, void* data);
  UsmBlock(UsmBlock&& other) noexcept : native_(std::move(other.native_)), data_(std::exchange(other.data_, nullptr)) {}
  UsmBlock& operator=(UsmBlock&& other) noexcept;
  ~UsmBlock();
  void* data() const { return data_; }
  /// Gives it to the caller, which frees it.
  void* release() noexcept;

 private:
  Ref<Native> native_;
  void* data_ = nullptr;
};

ze_host_mem_alloc_desc_t host_descriptor(const UsmHints& hints, const void* next);

/// @param next  Further properties of the allocation: a chain for its descriptor.
UsmBlock allocate_usm(const Ref<Native>& native, UsmType type, std::size_t size, std::size_t alignment,
                      const UsmHints& hints, const void* next, const char* what_for);

/// A driver's knowledge of a pointer.
struct UsmFacts {
  UsmType type = UsmType::kHost;
  std::uint64_t id = 0;                 ///< Allocation id, unique within its driver.
  void* base = nullptr;                 ///< Base of the allocation.
  std::size_t size = 0;                 ///< Size of the allocation.
  ze_device_handle_t device = nullptr;  ///< Null for host memory.
};

/// Nothing for a pointer that is not memory of this context.
std::optional<UsmFacts> find_usm(const Native& native, const void* data);

}  // namespace detail

/// An allocation of a ze_context.
class UsmMemory : public Memory {
 public:
  UsmMemory(Context context, const Properties& properties, UsmType type, void* data, detail::UsmBlock owned,
            cpu::UniqueFd fd)
      : Memory(std::move(context), kUsmMemory, properties),
        type_(type),
        data_(data),
        owned_(std::move(owned)),
        fd_(std::move(fd)) {}
  ~UsmMemory() override { drop_views(); }
  UsmType type() const { return type_; }
  /// Device address. Also the host address if Memory::host() is set.
  void* data() const { return data_; }
  int borrow_fd() const override { return fd_.get(); }

 private:
  UsmType type_;
  void* data_;
  detail::UsmBlock owned_;  // Empty for memory that the user keeps.
  cpu::UniqueFd fd_;        // For allocations made to be exported.
};

/// Foreign memory as seen by a ze_context: imported once, or used at its own address.
class UsmView : public View {
 public:
  UsmView(Context context, Access access, void* host, void* data, detail::UsmBlock imported,
          Ref<RefCounted> shared_import = {})
      : View(std::move(context), kUsmMemory, access, host),
        data_(data),
        imported_(std::move(imported)),
        shared_import_(std::move(shared_import)) {}
  /// Device address of the memory's first byte.
  void* data() const { return data_; }

 private:
  void* data_;
  detail::UsmBlock imported_;      // Both empty when no import was needed.
  Ref<RefCounted> shared_import_;  // A SystemImport.
};

/// The address of a tensor's first element, for command lists and graphs.
/// @errors kInvalidArgument: a tensor of another kind.
void* usm_pointer(const Tensor& tensor);

/// A ze_context on one device; allocates, wraps and imports memory.
class UsmContext final : public ContextImpl {
 public:
  UsmContext(Ref<detail::Native> native, const std::string& device_name)
      : native_(std::move(native)), name_("level_zero:" + device_name) {}

  std::string_view name() const override { return name_; }
  MemoryKind kind() const override { return kUsmMemory; }
  std::span<const Edge* const> edges() const override;
  DeviceIdentity device() const override { return native_->device.identity; }
  /// Commands wait for any point: wait_list() and stream() make a ze_event of it.
  bool can_wait_for(const Timeline&) const override { return true; }
  const detail::Native& native() const { return *native_; }
  const Ref<detail::Native>& native_ref() const { return native_; }

  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// Driver host memory where the device uses the host's memory or `wanted.host_access` is set; else device memory.
  /// If `wanted.fd` asks for a descriptor, with that: a dma-buf, or another kind that the driver exports.
  /// @errors kUnavailable: the driver has no such descriptor; kUnimplemented: a type that the device lacks;
  /// kResourceExhausted and other errors of native calls.
  Ref<Memory> allocate(const Requirements& wanted) override;
  Ref<Memory> allocate(const Requirements& wanted, UsmType type, const UsmHints& hints = {});
  /// A user's whole allocation. `owned` may be empty: the user then keeps it.
  Ref<Memory> over(const detail::UsmFacts& facts, detail::UsmBlock owned);

  /// Uses the device's own copies, through driver host memory.
  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;

  /// Packed elements in new driver host memory. The caller must have waited for work in flight.
  Ref<Memory> read_now(const Tensor& tensor, Deadline deadline) const;
  /// The reverse: `staged` is host memory of this ze_context with the packed elements.
  void write_now(const Tensor& tensor, const Ref<Memory>& staged, Deadline deadline) const;
  Ref<Memory> stage(std::size_t size) const;

  /// Whether the host can use memory of this type by its address.
  bool host_addressable(UsmType type) const { return type != UsmType::kDevice || native_->maps_device_memory; }

 private:
  Context self() const { return Context(Ref<ContextImpl>(const_cast<UsmContext*>(this))); }
  void require(UsmType type) const;
  bool has(UsmType type) const;
  std::string lacks(UsmType type) const;
  FdKind fd_kind_of(std::uint32_t export_type) const;
  /// The kind of export that serves as `wanted`; 0 if there is none.
  std::uint32_t export_type(FdKind wanted) const;
  std::string exports_none(FdKind wanted) const;
  Memory::Properties properties(UsmType type, void* data, std::size_t size, std::uint64_t id, FdKind fd) const;
  Ref<Memory> over(detail::UsmBlock block, UsmType type, std::size_t size, cpu::UniqueFd fd, FdKind kind);

  Ref<detail::Native> native_;
  std::string name_;
};

namespace detail {

UsmContext& usm_context(const Context& context, const char* function);

/// Calls run(offset in memory, offset in packed bytes, bytes) for each contiguous run of a tensor's elements.
template <typename Run>
void for_each_run(const Tensor& tensor, const Run& run) {
  const Shape& shape = tensor.shape();
  std::size_t bytes = tensor.size_bytes();
  std::size_t outer = 0;
  if (!tensor.is_contiguous()) {
    bytes = tenon::size_bytes(tensor.element_type());
    outer = shape.size();
    while (outer > 0 &&
           (shape[outer - 1] == 1 || tensor.byte_strides()[outer - 1] == static_cast<std::ptrdiff_t>(bytes)))
      bytes *= shape[--outer];
  }
  Shape index(outer, 0);
  for (std::size_t done = 0; done < tensor.size_bytes(); done += bytes) {
    std::size_t offset = tensor.offset();
    for (std::size_t axis = 0; axis < outer; ++axis)
      offset += index[axis] * static_cast<std::size_t>(tensor.byte_strides()[axis]);
    run(offset, done, bytes);
    for (std::size_t axis = outer; axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

/// Both sides of a copy, kept alive until it has finished.
struct CopySides final : RefCounted {
  CopySides(Ref<Memory> one, Ref<Memory> other) : a(std::move(one)), b(std::move(other)) {}
  Ref<Memory> a, b;
};

}  // namespace detail

}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
