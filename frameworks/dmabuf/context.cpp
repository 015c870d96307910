// SPDX-License-Identifier: Apache-2.0
// Dma-bufs as tensors: where they lie, CPU access to them, the edges and the context.
#include <tenon/frameworks/dmabuf/context.hpp>

#include <sys/mman.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/process_wide.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cpu/pages.hpp>
#include <tenon/frameworks/dmabuf/native.hpp>
#include <tenon/frameworks/dmabuf/standing.hpp>
#include <tenon/frameworks/dmabuf/sync.hpp>

namespace tenon {
inline namespace v1 {
namespace dmabuf {

namespace detail {

TENON_INLINE std::optional<Place> find_place(const Tensor& tensor) {
  if (!tensor) return std::nullopt;
  if (const auto* view = dynamic_cast<const DmabufView*>(tensor.view()))
    return Place{view->borrow_fd(), view->is_stand_in(), tensor.memory()->modifier()};
  if (tensor.view()) return std::nullopt;
  if (const auto* memory = dynamic_cast<const DmabufMemory*>(tensor.memory().get()))
    return Place{memory->borrow_fd(), memory->is_stand_in(), memory->modifier()};
  return std::nullopt;
}
TENON_INLINE Place place_of(const Tensor& tensor) {
  if (const auto place = find_place(tensor)) return *place;
  throw Error(Code::kInvalidArgument, "dmabuf: " + (tensor ? to_string(tensor) : std::string("an empty tensor")) +
                                          " is not a dma-buf; map it to dmabuf::context() with a Router first");
}

/// Explains why the CPU cannot read this modifier.
TENON_INLINE std::string not_linear(std::uint64_t modifier) {
  char hex[24];
  std::snprintf(hex, sizeof hex, "0x%016llx", static_cast<unsigned long long>(modifier));
  return std::string("pixels lie as modifier ") + hex +
         " says, which the CPU cannot read; a device that knows it must convert";
}

TENON_INLINE void require_linear(const Place& place) {
  if (place.modifier != kModifierLinear)
    throw Error(Code::kFailedPrecondition, "dmabuf: " + not_linear(place.modifier));
}

}  // namespace detail

TENON_INLINE int fd(const Tensor& tensor) { return detail::place_of(tensor).fd; }
TENON_INLINE UniqueFd export_fd(const Tensor& tensor) {
  const detail::Place place = detail::place_of(tensor);
  const Memory& memory = *tensor.memory();
  if (memory.has_hazards() && (place.stand_in || !detail::attach_fences(memory, place.fd))) {
    for (const TimelinePoint& point : memory.pending(Access::kReadWrite)) {
      if (detail::is_sync_file(point)) point.wait();
    }
  }
  return UniqueFd::duplicate(place.fd);
}
TENON_INLINE bool is_stand_in(const Tensor& tensor) { return detail::place_of(tensor).stand_in; }

TENON_INLINE CpuAccess::CpuAccess(const Tensor& tensor, Access access, Deadline deadline, Ledger* ledger)
    : tensor_(tensor), place_(detail::place_of(tensor)), access_(access) {
  detail::require_linear(place_);
  if (writes(access) && !tensor.is_writable())
    throw Error(Code::kPermissionDenied, "dmabuf: " + to_string(tensor) + " is read-only");
  tensor.memory()->wait_for(access, deadline, ledger);
  const std::size_t size = tensor.memory()->size_bytes();
  mapping_ = static_cast<std::byte*>(detail::map_whole(place_.fd, size, !writes(access)));
  try {
    if (!place_.stand_in) detail::begin_access(place_.fd, access, deadline, ledger);
  } catch (...) {
    ::munmap(mapping_, size);
    throw;
  }
}

TENON_INLINE CpuAccess::~CpuAccess() { finish(); }

TENON_INLINE Tensor CpuAccess::tensor() const {
  if (!mapping_) throw Error(Code::kFailedPrecondition, "dmabuf: this access of the CPU has ended");
  return Tensor(tensor_.info(), HostMemory::borrow(mapping_, tensor_.memory()->size_bytes(), !writes(access_)),
                tensor_.offset());
}

TENON_INLINE void CpuAccess::end() {
  if (const int error = finish()) {
    native::fail(Code::kDataLoss, "what the CPU wrote to descriptor " + std::to_string(place_.fd) + " may be lost",
                 detail::kSyncEndCall, error);
  }
}

TENON_INLINE int CpuAccess::finish() noexcept {
  if (!mapping_) return 0;
  const int error = place_.stand_in ? 0 : detail::end_access(place_.fd, access_);
  ::munmap(mapping_, tensor_.memory()->size_bytes());
  mapping_ = nullptr;
  return error;
}

namespace detail {

/// CPU access to a memory as a lease: the access ends when the last tensor that holds it goes. Wraps the source's own
/// lease. Reused, so that the steady state allocates nothing.
class AccessLease final : public LeaseState {
 public:
  /// Begins the access. @errors as begin_access.
  static Lease begin(const Tensor& source, int fd, Access access, Deadline deadline, Ledger* ledger) {
    Ref<AccessLease> lease(take());
    begin_access(fd, access, deadline, ledger);
    lease->memory_ = source.memory();
    lease->inner_ = source.lease();
    lease->fd_ = fd;
    lease->access_ = access;
    return lease;
  }
  bool writable() const override { return !inner_ || inner_->writable(); }
  const Lease& inner() const { return inner_; }

 protected:
  void dispose() noexcept override {
    const Ref<Memory> memory = std::move(memory_);  // Released last: the descriptor belongs to the memory or its view.
    const Lease inner = std::move(inner_);
    if (memory) {
      if (const int error = end_access(fd_, access_)) leave_failure(*memory, error);
    }
    put(this);
  }

 private:
  /// A lease cannot throw: the error is raised at the next wait for the memory.
  static void leave_failure(Memory& memory, int error) noexcept {
    try {
      auto timeline = make_ref<HostTimeline>();
      const TimelinePoint point = timeline->next();
      timeline->fail(point.value(), std::make_exception_ptr(Error(
                                        Code::kDataLoss, "dmabuf: what the CPU wrote may not have reached the memory",
                                        kSyncEndCall, error)));
      memory.hazards().wrote(point);
    } catch (...) {
      // Out of memory as well: the error cannot be reported.
    }
  }

  static AccessLease* take() {
    for (auto& slot : idle_) {
      if (AccessLease* lease = slot.exchange(nullptr, std::memory_order_acquire)) return lease;
    }
    return new AccessLease;
  }
  static void put(AccessLease* lease) noexcept {
    for (auto& slot : idle_) {
      AccessLease* none = nullptr;
      if (slot.compare_exchange_strong(none, lease, std::memory_order_release, std::memory_order_relaxed)) return;
    }
    delete lease;
  }

  /// Slots instead of a list: one exchange takes or fills a slot, so no lock is needed.
  static inline std::array<std::atomic<AccessLease*>, 16> idle_{};

  Ref<Memory> memory_;
  Lease inner_;
  int fd_ = -1;
  Access access_ = Access::kRead;
};

/// A mapping of a memory for the CPU; lasts as long as the memory.
class MappedView final : public View {
 public:
  MappedView(Context context, Access access, void* host, std::size_t size_bytes)
      : View(std::move(context), kCpuMemory, access, host), size_bytes_(size_bytes) {}
  ~MappedView() override { ::munmap(host(), size_bytes_); }

 private:
  std::size_t size_bytes_;
};

/// True when the context allocates dma-bufs, false when memfds stand in for them.
TENON_INLINE bool makes_dmabufs(const Context& context) {
  const auto* dmabufs = context.as<DmabufContext>();
  return dmabufs && dmabufs->allocator().kind != Allocator::Kind::kStandIn;
}

/// Shares memory that has a memfd, copies the rest.
///
/// The CPU's own tensors over the memfd still write to the same pages without a bracket. Devices see that if they snoop
/// the CPU's caches, as on x86. Memory for other devices is better allocated here.
class CpuToDmabuf final : public Edge {
 public:
  std::string_view name() const override { return "cpu->dmabuf"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kDmabufMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const bool shares = shareable(from.fd, from.memory_bytes);
    Reached reached{from, !shares, shares ? 300.0 : 200'000.0, shares ? 0 : 0.3};
    reached.result.context = to;
    reached.result.kind = kDmabufMemory;
    reached.result.alignment = 1;
    reached.result.host_addressable = false;
    if (shares) {
      reached.result.fd = from.fd == FdKind::kDmabuf || has_udmabuf() ? FdKind::kDmabuf : FdKind::kMemfd;
      return reached;
    }
    reached.result.info.strides = packed_strides(from.info.type, from.info.shape);
    reached.result.offset = 0;
    reached.result.memory_bytes = whole_pages(
        std::max<std::size_t>(checked_size_bytes(from.info.type, from.info.shape).value_or(0), 1), "a copy");
    reached.result.fd = makes_dmabufs(to) ? FdKind::kDmabuf : FdKind::kMemfd;
    reached.result.exporter = nullptr;
    reached.result.read_only = false;
    return reached;
  }

  /// @errors kFailedPrecondition: an imported memfd sealed against writing, which udmabuf refuses; errors of the
  /// allocation.
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    const Memory& memory = *source.memory();
    if (memory.context() == to) return source.through(nullptr).with_lease(without_access(source.lease()));
    if (!shareable(memory.fd_kind(), memory.size_bytes())) return copy(source, to, options);
    const View* view = memory.find_view(*to, kDmabufMemory, options.access);
    if (!view) {
      const bool memfd = memory.fd_kind() == FdKind::kMemfd;
      UniqueFd made;
      if (memfd && has_udmabuf()) made = udmabuf_over(memory.borrow_fd(), memory.size_bytes());
      const bool stand_in = memfd && !made;
      auto fresh = std::make_unique<DmabufView>(to, memory.read_only() ? Access::kRead : Access::kReadWrite,
                                                std::move(made), memory.borrow_fd(), stand_in);
      fresh->set_standing(id());  // The pages stay the same, so mapping again needs no call.
      if (!stand_in) fresh->set_fd_kind(FdKind::kDmabuf);
      view = &memory.add_view(std::move(fresh));
    }
    return source.through(view).with_lease(without_access(source.lease()));
  }

 private:
  /// udmabuf takes only whole pages.
  static bool shareable(FdKind fd, std::size_t memory_bytes) {
    return fd == FdKind::kDmabuf || (fd == FdKind::kMemfd && (!has_udmabuf() || memory_bytes % cpu::page_bytes() == 0));
  }
  /// The lease of the tensor that this one was mapped from: back in its own context, CPU access can end.
  static Lease without_access(const Lease& lease) {
    const auto* access = dynamic_cast<const AccessLease*>(lease.get());
    return access ? access->inner() : lease;
  }
  static Tensor copy(const Tensor& source, const Context& to, const MapOptions& options) {
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    Requirements wanted;
    wanted.size_bytes = std::max<std::size_t>(source.size_bytes(), 1);
    const Tensor made({source.element_type(), source.shape(), {}}, to->allocate(wanted));
    CpuAccess access(made, Access::kWrite, deadline_of(options), &ledger_of(options));
    Tensor target = access.tensor();
    source.copy_to(target);
    access.end();
    return made;
  }
};

/// Maps once; brackets each access until the result's lease ends it. Stand-ins need no bracket.
class DmabufToCpu final : public Edge {
 public:
  std::string_view name() const override { return "dmabuf->cpu"; }
  MemoryKind from() const override { return kDmabufMemory; }
  MemoryKind to() const override { return kCpuMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    if (from.modifier != kModifierLinear) return Refusal{not_linear(from.modifier)};
    Reached reached{from, false, access_ns(from.fd), 0};
    reached.result.context = to;
    reached.result.kind = kCpuMemory;
    reached.result.alignment = cpu::page_bytes();
    reached.result.host_addressable = true;
    return reached;
  }

  /// @errors kFailedPrecondition: not linear, or the exporter forbids mapping; kDeadlineExceeded: a device uses it.
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    const Place place = place_of(source);
    require_linear(place);
    if (place.stand_in) return source.through(view_for(source, place, to, options.access));
    const Deadline deadline = deadline_of(options);
    source.memory()->wait_for(options.access, deadline, &ledger_of(options));
    Lease lease = AccessLease::begin(source, place.fd, options.access, deadline, &ledger_of(options));
    return source.through(view_for(source, place, to, options.access)).with_lease(std::move(lease));
  }

  std::string_view host_wait(const Description& from) const override {
    return from.fd == FdKind::kDmabuf ? "the CPU may use a dma-buf when no device uses it any more" : "";
  }

  /// As map_frame: its cost is one access for each memory, whose planes share it.
  FrameStep step_frame(const FrameDescription& from, const Context& to, Access access) const override {
    FrameStep step = Edge::step_frame(from, to, access);
    if (auto* reached = std::get_if<ReachedFrame>(&step)) {
      reached->cost_ns = 0;
      for (std::size_t p = 0; p < from.plane_count; ++p)
        if (from.first_in_memory[p] == p) reached->cost_ns += access_ns(from.planes[p].fd);
    }
    return step;
  }

  /// One bracket per memory, not one per plane.
  Frame map_frame(const Frame& source, const Context& to, const MapOptions& options) const override {
    std::array<Tensor, 4> planes;
    for (std::size_t p = 0; p < source.plane_count(); ++p) {
      const Tensor& plane = source.plane(p);
      std::size_t first = 0;
      while (first < p &&
             (source.plane(first).memory() != plane.memory() || source.plane(first).view() != plane.view()))
        ++first;
      planes[p] =
          first == p ? map(plane, to, options) : plane.through(planes[first].view()).with_lease(planes[first].lease());
    }
    return source.with_planes(std::span(planes).first(source.plane_count()));
  }

 private:
  /// Stand-ins need no bracket.
  static double access_ns(FdKind fd) { return fd == FdKind::kDmabuf ? 2000 : 100; }
  /// Null for the host's own memory.
  const View* view_for(const Tensor& source, const Place& place, const Context& to, Access access) const {
    const Memory& memory = *source.memory();
    if (memory.context() == to) return nullptr;
    const View* view = memory.find_view(*to, kCpuMemory, access);
    if (view) return view;
    const bool read_only = memory.read_only();
    void* const host = map_whole(place.fd, memory.size_bytes(), read_only);
    std::unique_ptr<MappedView> made(
        new (std::nothrow) MappedView(to, read_only ? Access::kRead : Access::kReadWrite, host, memory.size_bytes()));
    if (!made) {
      ::munmap(host, memory.size_bytes());
      throw Error(Code::kResourceExhausted, "dmabuf: no host memory left");
    }
    if (place.stand_in) made->set_standing(id());
    return &memory.add_view(std::move(made));
  }
};

TENON_INLINE std::span<const Edge* const> edges() {
  static const CpuToDmabuf from_cpu;
  static const DmabufToCpu to_cpu;
  static const Edge* const all[] = {&from_cpu, &to_cpu};
  return all;
}

/// Kept by process_wide(): each binary has this code, and the process one context.
struct TheContext {
  Context context{make_ref<DmabufContext>()};
};

}  // namespace detail

TENON_INLINE DmabufContext::DmabufContext() : allocator_(dmabuf::allocators().front()) {}

TENON_INLINE std::string_view DmabufContext::name() const {
  return allocator_.kind == Allocator::Kind::kStandIn ? "dmabuf (memfd stand-in)" : "dmabuf";
}

TENON_INLINE std::span<const Edge* const> DmabufContext::edges() const { return detail::edges(); }

TENON_INLINE Requirements DmabufContext::requirements() const {
  Requirements wanted;
  wanted.fd = FdKind::kMemfd;
  return wanted;
}

TENON_INLINE std::variant<Offer, Refusal> DmabufContext::offer(const Requirements& wanted) const {
  const bool stand_in = allocator_.kind == Allocator::Kind::kStandIn;
  if (!FdKind::kDmabuf.serves(wanted.fd))
    return Refusal{"a descriptor of kind " + std::string(wanted.fd.name()) + " was asked for; this makes dma-bufs"};
  if (wanted.fd == FdKind::kDmabuf && stand_in)
    return Refusal{
        "this process can open neither a heap below /dev/dma_heap nor /dev/udmabuf (the kernel lacks them, or their "
        "permissions do); accept a memfd as stand-in"};
  if (wanted.alignment > cpu::page_bytes())
    return Refusal{"memory aligned to " + std::to_string(wanted.alignment) +
                   " bytes was asked for; dma-bufs are aligned to pages"};
  return Offer{cpu::page_bytes(), stand_in ? FdKind::kMemfd : FdKind::kDmabuf, 0, wanted.host_access};
}

TENON_INLINE Ref<Memory> DmabufContext::allocate(const Requirements& wanted) {
  const bool lacks_kernel = wanted.fd == FdKind::kDmabuf && allocator_.kind == Allocator::Kind::kStandIn;
  check_offer(wanted, lacks_kernel ? Code::kUnavailable : Code::kUnimplemented);
  return allocate(allocator_, std::max<std::size_t>(wanted.size_bytes + wanted.tail_padding, 1), wanted.host_access);
}
TENON_INLINE Ref<Memory> DmabufContext::allocate(const Allocator& allocator, std::size_t size_bytes, bool mapped) {
  const Context context{Ref<ContextImpl>(this)};
  UniqueFd made = detail::allocate_fd(allocator, size_bytes);
  if (mapped) return DmabufMemory::import_mapped(context, std::move(made), size_bytes);
  return DmabufMemory::import(context, std::move(made), size_bytes);
}

TENON_INLINE void DmabufContext::read(const Tensor& tensor, std::span<std::byte> out) const {
  CpuAccess access(tensor, Access::kRead);
  Tensor packed(tensor.element_type(), tensor.shape(), out.data());
  access.tensor().copy_to(packed);
  access.end();
}
TENON_INLINE void DmabufContext::write(const Tensor& tensor, std::span<const std::byte> in) const {
  CpuAccess access(tensor, Access::kReadWrite);  // Read too, because row padding must survive.
  Tensor target = access.tensor();
  Tensor(tensor.element_type(), tensor.shape(), const_cast<std::byte*>(in.data())).copy_to(target);
  access.end();
}

TENON_INLINE Context context() {
  static const auto& the = process_wide<detail::TheContext>("tenon.dmabuf.Context.1");
  return the.context;
}
TENON_INLINE std::vector<Context> contexts() { return {context()}; }

TENON_INLINE Ref<DmabufMemory> import(UniqueFd&& fd, std::size_t size_bytes, std::uint64_t modifier) {
  return DmabufMemory::import(context(), std::move(fd), size_bytes, modifier);
}
TENON_INLINE Ref<Memory> allocate(const Allocator& allocator, std::size_t size_bytes) {
  return context().as<DmabufContext>()->allocate(allocator, size_bytes);
}
TENON_INLINE Ref<Memory> allocate(std::size_t size_bytes) {
  Requirements wanted;
  wanted.size_bytes = size_bytes;
  return context()->allocate(wanted);
}

namespace client {

TENON_INLINE Tensor standing_descriptor(const Edge& edge, const Tensor& source, const Context& to, Access access) {
  return standing_view(edge, source, to, kDmabufMemory, access, [&] {
    const Memory& memory = *source.memory();
    return std::make_unique<DmabufView>(to, widest_access(source), UniqueFd(), memory.borrow_fd(),
                                        memory.fd_kind() != FdKind::kDmabuf);
  });
}

}  // namespace client

}  // namespace dmabuf
}  // namespace v1
}  // namespace tenon
