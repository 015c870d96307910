// SPDX-License-Identifier: Apache-2.0
// The context of memory of PipeWire's buffers, and its edges.
#include <tenon/frameworks/pipewire/context.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/process_wide.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/standing_view.hpp>
#include <tenon/frameworks/cpu/pages.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/dmabuf/standing.hpp>

namespace tenon {
inline namespace v1 {
namespace pipewire {
namespace detail {

TENON_INLINE std::size_t whole_pages(std::size_t size_bytes) {
  const std::size_t page = cpu::page_bytes();
  return (std::max<std::size_t>(size_bytes, 1) + page - 1) / page * page;
}

using Found = decltype(dmabuf::client::inspect(0, 0));

/// What dmabuf::client::inspect() finds, also of memory whose owner can shrink it.
TENON_INLINE Found inspect_unsealed(int fd, std::size_t size_bytes) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || dmabuf::client::is_dmabuf(fd))
    return dmabuf::client::inspect(fd, size_bytes);
  Found found;
  found.stand_in = true;
  found.properties.size_bytes = static_cast<std::size_t>(status.st_size);
  found.properties.fd = FdKind::kMemfd;
  found.properties.identity = {MemoryIdentity::Kind::kInode, static_cast<std::uint64_t>(status.st_dev),
                               static_cast<std::uint64_t>(status.st_ino)};
  if (found.properties.size_bytes == 0 || found.properties.size_bytes < size_bytes)
    throw Error(Code::kOutOfRange, "pipewire: a buffer's descriptor holds " + std::to_string(status.st_size) +
                                       " bytes, " + std::to_string(size_bytes) + " are needed");
  const int seals = ::fcntl(fd, F_GET_SEALS);
  constexpr int kSealFutureWrite = 0x0010;  // Linux 5.1; fcntl.h of older libcs lacks it.
  found.properties.read_only =
      (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY || (seals > 0 && (seals & (F_SEAL_WRITE | kSealFutureWrite)) != 0);
  return found;
}

/// Shares memory that has a memfd, copies the rest.
class CpuToPipeWire final : public Edge {
 public:
  std::string_view name() const override { return "cpu->pipewire"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kPipeWireMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    if (from.fd == FdKind::kDmabuf)
      return Refusal{"the memory is a dma-buf, whose accesses by the CPU end first: the way goes over dmabuf"};
    if (from.fd == FdKind::kMemfd) return shared_in_place(from, to, kPipeWireMemory, 300);
    Reached copy = packed_copy(from, to, kPipeWireMemory, 200'000, 0.3, cpu::page_bytes(), true);
    copy.result.memory_bytes = whole_pages(copy.result.memory_bytes);
    copy.result.fd = FdKind::kMemfd;
    return copy;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Memory& memory = *source.memory();
    if (memory.context() == to) return source.through(nullptr);
    if (memory.fd_kind() != FdKind::kMemfd) return copy(source, to, options);
    return standing_view(*this, source, to, kPipeWireMemory, options.access, [&] {
      return std::make_unique<PipeWireView>(to, widest_access(source), host_base(source), memory.borrow_fd());
    });
  }

 private:
  static Tensor copy(const Tensor& source, const Context& to, const MapOptions& options) {
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    Tensor packed(TensorInfo{source.element_type(), source.shape(), {}},
                  PipeWireMemory::allocate(to, whole_pages(source.size_bytes())));
    source.copy_to(packed);
    return packed;
  }
};

/// Shares the mapping that every memfd has; dma-bufs go over dmabuf, which brackets accesses of the CPU.
class PipeWireToCpu final : public HostEdge {
 public:
  std::string_view name() const override { return "pipewire->cpu"; }
  MemoryKind from() const override { return kPipeWireMemory; }
  MemoryKind to() const override { return kCpuMemory; }
};

class DmabufToPipeWire final : public StandingEdge {
 public:
  DmabufToPipeWire() : StandingEdge("dmabuf->pipewire", dmabuf::kDmabufMemory, kPipeWireMemory) {}
  Step step(const Description& from, const Context& to, Access) const override {
    Reached reached = shared_in_place(from, to, kPipeWireMemory, 100);
    reached.result.host_addressable = false;
    reached.result.alignment = 1;
    return reached;
  }

 private:
  std::unique_ptr<View> make_view(const Tensor& source, const Context& to) const override {
    const dmabuf::client::Place place = dmabuf::client::place_of(source);
    auto view = std::make_unique<PipeWireView>(to, widest_access(source), nullptr, place.fd);
    if (!place.stand_in) view->set_fd_kind(FdKind::kDmabuf);
    return view;
  }
};

class PipeWireToDmabuf final : public Edge {
 public:
  std::string_view name() const override { return "pipewire->dmabuf"; }
  MemoryKind from() const override { return kPipeWireMemory; }
  MemoryKind to() const override { return dmabuf::kDmabufMemory; }
  bool makes_standing_views(const Context&) const override { return true; }

  Step step(const Description& from, const Context& to, Access access) const override {
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only: it is a peer's buffer"};
    Reached reached = shared_in_place(from, to, dmabuf::kDmabufMemory, 100);
    reached.result.host_addressable = false;
    reached.result.alignment = 1;
    return reached;
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    if (source.memory()->context() == to) return source.through(nullptr);
    return dmabuf::client::standing_descriptor(*this, source, to, options.access);
  }
};

TENON_INLINE std::span<const Edge* const> edges() {
  static const CpuToPipeWire from_cpu;
  static const PipeWireToCpu to_cpu;
  static const DmabufToPipeWire from_dmabuf;
  static const PipeWireToDmabuf to_dmabuf;
  static const Edge* const all[] = {&from_cpu, &to_cpu, &from_dmabuf, &to_dmabuf};
  return all;
}

/// A mapping of the descriptor of a tensor's memory, beside those that exist, for one access of the CPU.
class AccessThroughFd {
 public:
  AccessThroughFd(const Tensor& tensor, Access access)
      : tensor_(tensor), fd_(pipewire::fd(tensor)), is_dmabuf_(dmabuf::client::is_dmabuf(fd_)), access_(access) {
    tensor.memory()->wait_for(access, default_deadline());
    if (is_dmabuf_) dmabuf::client::wait_for_fences(fd_, access, default_deadline(), nullptr);
    mapping_ = dmabuf::client::map_whole(fd_, size(), !writes(access));
    const int error = is_dmabuf_ ? dmabuf::client::start_access(fd_, access) : 0;
    if (error == 0) return;
    ::munmap(mapping_, size());
    throw Error(Code::kInternal, "pipewire: an access of the CPU to " + to_string(tensor) + " cannot begin",
                "ioctl(DMA_BUF_IOCTL_SYNC)", error);
  }
  AccessThroughFd(const AccessThroughFd&) = delete;
  AccessThroughFd& operator=(const AccessThroughFd&) = delete;
  ~AccessThroughFd() {
    if (is_dmabuf_) dmabuf::client::end_access(fd_, access_);
    ::munmap(mapping_, size());
  }
  Tensor tensor() const {
    return Tensor(tensor_.info(), HostMemory::borrow(mapping_, size(), !writes(access_)), tensor_.offset());
  }

 private:
  std::size_t size() const { return tensor_.memory()->size_bytes(); }

  const Tensor& tensor_;
  const int fd_;
  const bool is_dmabuf_;
  const Access access_;
  void* mapping_ = nullptr;
};

/// Kept by process_wide(): each binary has this code, and the process one context.
struct TheContext {
  Context context{make_ref<PipeWireContext>()};
};

}  // namespace detail

TENON_INLINE Ref<PipeWireMemory> PipeWireMemory::allocate(const Context& context, std::size_t size_bytes) {
  if (size_bytes == 0 || size_bytes > (std::size_t{1} << 62))
    throw Error(Code::kInvalidArgument,
                "pipewire: memory of " + std::to_string(size_bytes) + " bytes: the size must be 1..2^62");
  return import(context, dmabuf::client::sealed_memfd(detail::whole_pages(size_bytes)), size_bytes);
}

TENON_INLINE Ref<PipeWireMemory> PipeWireMemory::import(const Context& context, UniqueFd&& fd, std::size_t size_bytes,
                                                        std::uint64_t modifier, bool read_only, bool takes_unsealed) {
  auto found =
      takes_unsealed ? detail::inspect_unsealed(fd.get(), size_bytes) : dmabuf::client::inspect(fd.get(), size_bytes);
  found.properties.modifier = modifier;
  found.properties.read_only |= read_only;
  const std::size_t size = found.properties.size_bytes;
  if (found.stand_in) found.properties.host = dmabuf::client::map_whole(fd.get(), size, found.properties.read_only);
  auto* const made = new (std::nothrow) PipeWireMemory(context, found.properties);
  if (!made) {
    if (found.properties.host) ::munmap(found.properties.host, size);
    throw Error(Code::kResourceExhausted, "pipewire: no host memory left");
  }
  made->fd_ = std::move(fd);
  return Ref<PipeWireMemory>(made);
}

TENON_INLINE PipeWireMemory::~PipeWireMemory() {
  drop_views();
  if (host()) ::munmap(host(), size_bytes());
}

TENON_INLINE std::span<const Edge* const> PipeWireContext::edges() const { return detail::edges(); }

TENON_INLINE Requirements PipeWireContext::requirements() const {
  Requirements wanted;
  wanted.fd = FdKind::kMemfd;
  return wanted;
}

TENON_INLINE std::string_view PipeWireContext::remedy() const {
  return "allocate the memory with a descriptor (Requirements::fd = kMemfd or kDmabuf), so that it is handed on in "
         "place";
}

TENON_INLINE std::variant<Offer, Refusal> PipeWireContext::offer(const Requirements& wanted) const {
  if (!FdKind::kMemfd.serves(wanted.fd))
    return Refusal{"a descriptor of kind " + std::string(wanted.fd.name()) +
                   " was asked for; this makes memfds, frameworks/dmabuf dma-bufs"};
  if (wanted.alignment > cpu::page_bytes())
    return Refusal{"memory aligned to " + std::to_string(wanted.alignment) +
                   " bytes was asked for; memfds are aligned to pages"};
  return Offer{cpu::page_bytes(), FdKind::kMemfd, 0, true};
}

TENON_INLINE Ref<Memory> PipeWireContext::allocate(const Requirements& wanted) {
  check_offer(wanted);
  return PipeWireMemory::allocate(Context(Ref<ContextImpl>(this)),
                                  detail::whole_pages(wanted.size_bytes + wanted.tail_padding));
}

TENON_INLINE void PipeWireContext::read(const Tensor& tensor, std::span<std::byte> out) const {
  const detail::AccessThroughFd mapping(tensor, Access::kRead);
  Tensor packed(tensor.element_type(), tensor.shape(), out.data());
  mapping.tensor().copy_to(packed);
}

TENON_INLINE void PipeWireContext::write(const Tensor& tensor, std::span<const std::byte> in) const {
  const detail::AccessThroughFd mapping(tensor, Access::kReadWrite);  // Read too, because row padding must survive.
  Tensor target = mapping.tensor();
  Tensor(tensor.element_type(), tensor.shape(), const_cast<std::byte*>(in.data())).copy_to(target);
}

TENON_INLINE Context context() {
  static const auto& the = process_wide<detail::TheContext>("tenon.pipewire.Context.1");
  return the.context;
}
TENON_INLINE std::vector<Context> contexts() { return {context()}; }

TENON_INLINE int fd(const Tensor& tensor) {
  if (tensor && tensor.view()) {
    if (const auto* view = dynamic_cast<const PipeWireView*>(tensor.view())) return view->borrow_fd();
  } else if (tensor) {
    if (const auto* memory = dynamic_cast<const PipeWireMemory*>(tensor.memory().get())) return memory->borrow_fd();
  }
  throw Error(Code::kInvalidArgument,
              "pipewire: " + (tensor ? tenon::to_string(tensor) : std::string("an empty tensor")) +
                  " is no memory of a buffer; map it to pipewire::context() with a Router first");
}

}  // namespace pipewire
}  // namespace v1
}  // namespace tenon
