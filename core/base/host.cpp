// SPDX-License-Identifier: Apache-2.0
// The host context, and allocation of host memory.
#include <tenon/core/host.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/page_bytes.hpp>
#include <tenon/core/platform/shared_descriptor.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

class HostContext final : public ContextImpl {
 public:
  /// Immortal: it outlives static destructors that hold tensors. It also saves reference counting, since every tensor
  /// refers to it.
  HostContext() { make_immortal(); }
  std::string_view name() const override { return "cpu"; }
  MemoryKind kind() const override { return kCpuMemory; }
  DeviceIdentity device() const override { return DeviceIdentity().set(kHostCpu, std::uint8_t{1}); }
  Requirements requirements() const override {
    Requirements wanted;
    wanted.host_access = true;
    return wanted;
  }
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override {
    Offer offer{std::max<std::size_t>(wanted.alignment, 64), FdKind::kNone, 0, true};
    if (wanted.fd == FdKind::kNone) return offer;
    if (!platform::kSharedKind.serves(wanted.fd))
      return Refusal{"a descriptor of kind " + std::string(wanted.fd.name()) +
                     " was requested; allocate it with the framework that makes them (frameworks/dmabuf for dma-bufs), "
                     "or accept a " +
                     std::string(platform::kSharedKind.name())};
    if (wanted.alignment > page_bytes())
      return Refusal{"a " + std::string(platform::kSharedKind.name()) + " aligned to " +
                     std::to_string(wanted.alignment) + " bytes was requested; mappings are aligned to pages"};
    offer.alignment = page_bytes();
    offer.fd = platform::kSharedKind;
    return offer;
  }
  Ref<Memory> allocate(const Requirements& wanted) override {
    check_offer(wanted);
    const std::size_t size = wanted.size_bytes + wanted.tail_padding;
    if (wanted.fd == FdKind::kNone) return HostMemory::allocate(size, wanted.alignment);
    return SharedMemory::allocate(std::max<std::size_t>(size, 1));
  }
};

TENON_INLINE std::uint64_t next_memory_serial() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace detail

TENON_INLINE Context host_context() {
  static Context* context = new Context(make_ref<detail::HostContext>());
  return *context;
}

namespace detail {
inline const HostBudget*& current_budget() {
  static thread_local const HostBudget* current = nullptr;
  return current;
}
}  // namespace detail

TENON_INLINE HostBudget::HostBudget(std::uint64_t limit_bytes, std::string remedy)
    : limit_bytes_(limit_bytes), remedy_(std::move(remedy)), account_(std::make_shared<Account>()) {}
TENON_INLINE std::uint64_t HostBudget::used_bytes() const { return account_->used.load(std::memory_order_relaxed); }
TENON_INLINE void HostBudget::take(std::uint64_t size_bytes) const {
  std::uint64_t used = used_bytes();
  do {
    if (used > limit_bytes_ || size_bytes > limit_bytes_ - used)
      throw Error(Code::kResourceExhausted, "host memory: " + std::to_string(size_bytes) +
                                                " bytes are requested while " + std::to_string(used) + " of " +
                                                std::to_string(limit_bytes_) + " allowed bytes are in use" + remedy_);
  } while (!account_->used.compare_exchange_weak(used, used + size_bytes, std::memory_order_relaxed));
}
TENON_INLINE HostBudget::Scope::Scope(const HostBudget& budget)
    : before_(std::exchange(detail::current_budget(), &budget)) {}
TENON_INLINE HostBudget::Scope::~Scope() { detail::current_budget() = before_; }

namespace detail {
inline bool takes_whole_pages(std::size_t size_bytes) { return size_bytes >= HostMemory::kWholePagesFrom; }
inline std::size_t default_alignment(std::size_t size_bytes) {
  return takes_whole_pages(size_bytes) ? page_bytes() : 64;
}
/// Bytes that no memory has yet.
struct AlignedDelete {
  std::align_val_t alignment;
  void operator()(void* bytes) const noexcept { ::operator delete(bytes, alignment); }
};
using AlignedBytes = std::unique_ptr<void, AlignedDelete>;
inline std::size_t capacity_of(std::size_t size_bytes) {
  const std::size_t unit = takes_whole_pages(size_bytes) ? page_bytes() : 1;
  return size_bytes > SIZE_MAX - unit ? size_bytes : (size_bytes + unit - 1) / unit * unit;
}
}  // namespace detail

TENON_INLINE std::size_t HostMemory::capacity_bytes() const {
  return owned_ ? detail::capacity_of(size_bytes()) : size_bytes();
}

TENON_INLINE Ref<HostMemory> HostMemory::allocate(std::size_t size_bytes, std::size_t alignment) {
  const std::size_t usual = detail::default_alignment(size_bytes), align = std::max(alignment, usual);
  // The last owner of this pointer returns the bytes to the budget: the memory, or this function when it fails.
  std::shared_ptr<HostBudget::Account> taken;
  if (const HostBudget* budget = detail::current_budget()) {
    budget->take(size_bytes);
    taken = {budget->account_.get(), [account = budget->account_, size_bytes](HostBudget::Account*) {
               account->used.fetch_sub(size_bytes, std::memory_order_relaxed);
             }};
  }
  detail::AlignedBytes bytes(
      ::operator new(std::max<std::size_t>(detail::capacity_of(size_bytes), 1), std::align_val_t(align), std::nothrow),
      {std::align_val_t(align)});
  if (!bytes) {
    throw Error(Code::kResourceExhausted, "host memory: cannot allocate " + std::to_string(size_bytes) + " bytes");
  }
  Properties properties;
  properties.size_bytes = size_bytes;
  properties.host = bytes.get();
  properties.identity = {MemoryIdentity::Kind::kSerial, 0, detail::next_memory_serial()};
  // The deleter needs the alignment: the callback carries it only when it is not the default.
  Release release;
  if (align != usual || taken)
    release = [data = bytes.get(), align, taken = std::move(taken)] {
      ::operator delete(data, std::align_val_t(align));
    };
  Ref<HostMemory> memory = make_ref<HostMemory>(properties, true, std::move(release));
  (void)bytes.release();  // The memory has them from here on.
  return memory;
}

TENON_INLINE Ref<HostMemory> HostMemory::allocate_strings(std::size_t count) {
  const auto bytes = allocate(count * sizeof(std::string));
  auto* const strings = static_cast<std::string*>(bytes->host());
  std::uninitialized_default_construct_n(strings, count);
  Properties properties;
  properties.size_bytes = bytes->size_bytes();
  properties.host = strings;
  properties.identity = bytes->identity();
  auto memory = make_ref<HostMemory>(properties, true, [bytes, strings, count] { std::destroy_n(strings, count); });
  memory->has_strings_ = true;
  return memory;
}

TENON_INLINE Ref<HostMemory> HostMemory::borrow(void* data, std::size_t size_bytes, bool read_only, Release release) {
  // Memory of zero bytes may have a null address (an empty std::vector's does). It still needs an address, because the
  // address marks memory as host memory.
  alignas(64) static char nowhere[64];
  Properties properties;
  properties.size_bytes = size_bytes;
  properties.host = data || size_bytes != 0 ? data : nowhere;
  properties.read_only = read_only;
  return make_ref<HostMemory>(properties, false, std::move(release));
}

TENON_INLINE HostMemory::HostMemory(const Properties& properties, bool owned, Release release)
    : Memory(host_context(), kCpuMemory, properties), owned_(owned), release_(std::move(release)) {}

TENON_INLINE HostMemory::~HostMemory() {
  drop_views();
  if (release_)
    release_();
  else if (owned_)
    ::operator delete(host(), std::align_val_t(detail::default_alignment(size_bytes())));
}

}  // namespace v1
}  // namespace tenon
