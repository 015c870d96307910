// SPDX-License-Identifier: Apache-2.0
// A sycl::context with one device as a Tenon context, and its unified shared memory (USM).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/sycl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace sycl {

/// `Tensor::kind()` of USM that a sycl::context allocated.
inline constexpr MemoryKind kUsmMemory{"sycl.usm"};

/// Where the bytes are: on the host, on the device only, or wherever they were last accessed.
enum class UsmType : std::uint8_t { kHost, kDevice, kShared };
constexpr const char* name(UsmType type) {
  return type == UsmType::kHost ? "host" : type == UsmType::kDevice ? "device" : "shared";
}

namespace detail {

/// The native objects behind a context. @thread members from any thread.
class Native final : public RefCounted {
 public:
  /// @param owner  Keeps native objects below the queue that SYCL does not keep; may be null.
  /// @errors those of making a queue.
  explicit Native(const ::sycl::queue& users, Ref<RefCounted> owner = {});
  ~Native() override { Probe::handles.fetch_sub(1, std::memory_order_relaxed); }
  bool has(UsmType type) const;
  /// Whether kernels may use any host pointer.
  bool takes_any_pointer() const { return device.has(::sycl::aspect::usm_system_allocations); }

 private:
  const Ref<RefCounted> owner_;  // Released last.

 public:
  const ::sycl::context context;
  const ::sycl::device device;
  const std::string name;
  const DeviceIdentity identity;
  const ::sycl::queue users_queue;
  mutable ::sycl::queue transfers;  ///< Ours alone, in order: Tenon's copies never wait behind a user's work.
};

/// Owns one allocation.
class UsmBlock {
 public:
  UsmBlock() = default;
  UsmBlock(Ref<Native> native, void* data);
  UsmBlock(UsmBlock&& other) noexcept : native_(std::move(other.native_)), data_(std::exchange(other.data_, nullptr)) {}
  UsmBlock& operator=(UsmBlock&&) = delete;
  ~UsmBlock();
  void* data() const { return data_; }

 private:
  Ref<Native> native_;
  void* data_ = nullptr;
};

/// @errors kUnimplemented: the device has no such USM; kResourceExhausted; those of the call.
UsmBlock allocate_usm(const Ref<Native>& native, UsmType type, std::size_t size, std::size_t alignment);

}  // namespace detail

/// A USM allocation as memory. Host and shared ones are host-addressable.
class UsmMemory final : public Memory {
 public:
  UsmMemory(Context context, const Properties& properties, UsmType type, void* data, detail::UsmBlock owned)
      : Memory(std::move(context), kUsmMemory, properties), type_(type), data_(data), owned_(std::move(owned)) {}
  ~UsmMemory() override { drop_views(); }
  UsmType type() const { return type_; }
  void* data() const { return data_; }

 private:
  UsmType type_;
  void* data_;
  detail::UsmBlock owned_;  // Empty for memory that the user keeps.
};

/// Foreign memory at an address that SYCL takes.
class UsmView final : public View {
 public:
  UsmView(Context context, Access access, void* host, void* data)
      : View(std::move(context), kUsmMemory, access, host), data_(data) {}
  void* data() const { return data_; }

 private:
  void* data_;
};

/// The address of a tensor's first element, for kernels and copies. @errors kInvalidArgument: a tensor of another kind.
void* usm_pointer(const Tensor& tensor);

/// A sycl::context on one device; allocates and wraps USM.
class UsmContext final : public ContextImpl {
 public:
  UsmContext(Ref<detail::Native> native, const std::string& device_name)
      : native_(std::move(native)), name_("sycl:" + device_name) {}

  std::string_view name() const override { return name_; }
  MemoryKind kind() const override { return kUsmMemory; }
  std::span<const Edge* const> edges() const override;
  DeviceIdentity device() const override { return native_->identity; }
  /// SYCL's commands wait for SYCL's events alone: it has none that a host sets.
  bool can_wait_for(const Timeline& timeline) const override;
  const detail::Native& native() const { return *native_; }
  const Ref<detail::Native>& native_ref() const { return native_; }

  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// Device USM; host USM if `wanted.host_access`. @errors kUnimplemented where offer() refuses; kResourceExhausted.
  Ref<Memory> allocate(const Requirements& wanted) override;
  Ref<Memory> allocate(const Requirements& wanted, UsmType type);
  Ref<Memory> over(void* data, std::size_t size, UsmType type, detail::UsmBlock owned);

  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;

  /// Copies a tensor's elements out to packed host memory, or in from it, and waits; both are kept until the device is
  /// done. The caller has waited for work in flight. @errors kDeadlineExceeded; those of native calls.
  void copy_now(const Tensor& tensor, const Ref<Memory>& packed, bool out, Deadline deadline) const;

 private:
  struct Keeper {
    Ref<Memory> one, other;
    void set(bool) noexcept { one = {}, other = {}; }
  };
  static void keep(const TimelinePoint& until, const Ref<Memory>& one, const Ref<Memory>& other);
  UsmType type_for(const Requirements& wanted) const { return wanted.host_access ? UsmType::kHost : UsmType::kDevice; }

  Ref<detail::Native> native_;
  std::string name_;
};

namespace detail {

UsmContext& usm_context(const Context& context, const char* function);

}  // namespace detail
}  // namespace sycl
}  // namespace v1
}  // namespace tenon
