// SPDX-License-Identifier: Apache-2.0
// The context of memory for other processes, and its edges.
#include <tenon/frameworks/ipc/context.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <optional>
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
#include <tenon/frameworks/dmabuf/native.hpp>
#include <tenon/frameworks/dmabuf/standing.hpp>

namespace tenon {
inline namespace v1 {
namespace ipc {
namespace detail {

inline constexpr int kSealFutureWrite = 0x0010;  // Linux 5.1; fcntl.h of older libcs lacks it.

TENON_INLINE std::size_t whole_pages(std::size_t size_bytes) {
  const std::size_t page = cpu::page_bytes();
  return (std::max<std::size_t>(size_bytes, 1) + page - 1) / page * page;
}

TENON_INLINE std::optional<int> find_fd(const Tensor& tensor) {
  if (!tensor) return std::nullopt;
  if (const auto* view = dynamic_cast<const IpcView*>(tensor.view())) return view->borrow_fd();
  if (tensor.view()) return std::nullopt;
  if (const auto* memory = dynamic_cast<const IpcMemory*>(tensor.memory().get())) return memory->borrow_fd();
  return std::nullopt;
}

/// A mapping of the descriptor of a tensor's memory, beside those that exist, for one access of the CPU.
class SecondMapping {
 public:
  SecondMapping(const Tensor& tensor, Access access)
      : tensor_(tensor), fd_(ipc::fd(tensor)), is_dmabuf_(dmabuf::client::is_dmabuf(fd_)), access_(access) {
    tensor.memory()->wait_for(access, default_deadline());
    if (is_dmabuf_) dmabuf::client::wait_for_fences(fd_, access, default_deadline(), nullptr);
    mapping_ = dmabuf::client::map_whole(fd_, size(), !writes(access));
    const int error = is_dmabuf_ ? dmabuf::client::start_access(fd_, access) : 0;
    if (error == 0) return;
    ::munmap(mapping_, size());
    throw Error(Code::kInternal, "ipc: an access of the CPU to " + to_string(tensor) + " cannot begin",
                "ioctl(DMA_BUF_IOCTL_SYNC)", error);
  }
  SecondMapping(const SecondMapping&) = delete;
  SecondMapping& operator=(const SecondMapping&) = delete;
  ~SecondMapping() {
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

/// Shares memory that has a memfd, copies the rest.
class CpuToIpc final : public Edge {
 public:
  std::string_view name() const override { return "cpu->ipc"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kIpcMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    if (from.fd == FdKind::kDmabuf)
      return Refusal{"the memory is a dma-buf, whose accesses by the CPU end first: the way goes over dmabuf"};
    if (from.fd == FdKind::kMemfd) return shared_in_place(from, to, kIpcMemory, 300);
    Reached copy = packed_copy(from, to, kIpcMemory, 200'000, 0.3, cpu::page_bytes(), true);
    copy.result.memory_bytes = whole_pages(copy.result.memory_bytes);
    copy.result.fd = FdKind::kMemfd;
    return copy;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Memory& memory = *source.memory();
    if (memory.context() == to) return source.through(nullptr);
    if (memory.fd_kind() != FdKind::kMemfd) return copy(source, to, options);
    return standing_view(*this, source, to, kIpcMemory, options.access, [&] {
      return std::make_unique<IpcView>(to, widest_access(source), host_base(source), memory.borrow_fd());
    });
  }

 private:
  static Tensor copy(const Tensor& source, const Context& to, const MapOptions& options) {
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    const Ref<IpcMemory> made = IpcMemory::allocate(to, whole_pages(source.size_bytes()));
    Tensor packed(TensorInfo{source.element_type(), source.shape(), {}}, made);
    source.copy_to(packed);
    return packed;
  }
};

/// Shares the mapping that every memfd has; dma-bufs go over dmabuf, which brackets accesses of the CPU.
class IpcToCpu final : public HostEdge {
 public:
  std::string_view name() const override { return "ipc->cpu"; }
  MemoryKind from() const override { return kIpcMemory; }
  MemoryKind to() const override { return kCpuMemory; }
};

class DmabufToIpc final : public StandingEdge {
 public:
  DmabufToIpc() : StandingEdge("dmabuf->ipc", dmabuf::kDmabufMemory, kIpcMemory) {}
  Step step(const Description& from, const Context& to, Access) const override {
    Reached reached = shared_in_place(from, to, kIpcMemory, 100);
    reached.result.host_addressable = false;
    reached.result.alignment = 1;
    return reached;
  }

 private:
  std::unique_ptr<View> make_view(const Tensor& source, const Context& to) const override {
    const dmabuf::client::Place place = dmabuf::client::place_of(source);
    auto view = std::make_unique<IpcView>(to, widest_access(source), nullptr, place.fd);
    if (!place.stand_in) view->set_fd_kind(FdKind::kDmabuf);
    return view;
  }
};

class IpcToDmabuf final : public Edge {
 public:
  std::string_view name() const override { return "ipc->dmabuf"; }
  MemoryKind from() const override { return kIpcMemory; }
  MemoryKind to() const override { return dmabuf::kDmabufMemory; }
  bool makes_standing_views(const Context&) const override { return true; }

  Step step(const Description& from, const Context& to, Access) const override {
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
  static const CpuToIpc from_cpu;
  static const IpcToCpu to_cpu;
  static const DmabufToIpc from_dmabuf;
  static const IpcToDmabuf to_dmabuf;
  static const Edge* const all[] = {&from_cpu, &to_cpu, &from_dmabuf, &to_dmabuf};
  return all;
}

/// Kept by process_wide(): each binary has this code, and the process one context.
struct TheContext {
  Context context{make_ref<IpcContext>()};
};

}  // namespace detail

TENON_INLINE Ref<IpcMemory> IpcMemory::allocate(const Context& context, std::size_t size_bytes) {
  if (size_bytes == 0 || size_bytes > (std::size_t{1} << 62))
    throw Error(Code::kInvalidArgument,
                "ipc: memory of " + std::to_string(size_bytes) + " bytes: the size must be 1..2^62");
  return import(context, dmabuf::client::sealed_memfd(detail::whole_pages(size_bytes)), size_bytes);
}

TENON_INLINE Ref<IpcMemory> IpcMemory::import(const Context& context, UniqueFd&& fd, std::size_t size_bytes,
                                              std::uint64_t modifier) {
  auto found = dmabuf::client::inspect(fd.get(), size_bytes);
  found.properties.modifier = modifier;
  const std::size_t size = found.properties.size_bytes;
  if (found.stand_in) found.properties.host = dmabuf::client::map_whole(fd.get(), size, found.properties.read_only);
  auto* const made = new (std::nothrow) IpcMemory(context, found.properties);
  if (!made) {
    if (found.properties.host) ::munmap(found.properties.host, size);
    throw Error(Code::kResourceExhausted, "ipc: no host memory left");
  }
  made->fd_ = std::move(fd);
  return Ref<IpcMemory>(made);
}

TENON_INLINE IpcMemory::~IpcMemory() {
  drop_views();
  if (host()) ::munmap(host(), size_bytes());
}

TENON_INLINE std::span<const Edge* const> IpcContext::edges() const { return detail::edges(); }

TENON_INLINE Requirements IpcContext::requirements() const {
  Requirements wanted;
  wanted.fd = FdKind::kMemfd;
  return wanted;
}

TENON_INLINE std::string_view IpcContext::remedy() const {
  return "allocate the memory with a descriptor (Requirements::fd = kMemfd or kDmabuf), so that it is handed on in "
         "place";
}

TENON_INLINE std::variant<Offer, Refusal> IpcContext::offer(const Requirements& wanted) const {
  if (!FdKind::kMemfd.serves(wanted.fd))
    return Refusal{"a descriptor of kind " + std::string(wanted.fd.name()) +
                   " was asked for; this makes memfds, frameworks/dmabuf dma-bufs"};
  if (wanted.alignment > cpu::page_bytes())
    return Refusal{"memory aligned to " + std::to_string(wanted.alignment) +
                   " bytes was asked for; memfds are aligned to pages"};
  return Offer{cpu::page_bytes(), FdKind::kMemfd, 0, true};
}

TENON_INLINE Ref<Memory> IpcContext::allocate(const Requirements& wanted) {
  check_offer(wanted);
  return IpcMemory::allocate(Context(Ref<ContextImpl>(this)),
                             detail::whole_pages(wanted.size_bytes + wanted.tail_padding));
}

TENON_INLINE void IpcContext::read(const Tensor& tensor, std::span<std::byte> out) const {
  const detail::SecondMapping mapping(tensor, Access::kRead);
  Tensor packed(tensor.element_type(), tensor.shape(), out.data());
  mapping.tensor().copy_to(packed);
}

TENON_INLINE void IpcContext::write(const Tensor& tensor, std::span<const std::byte> in) const {
  const detail::SecondMapping mapping(tensor, Access::kReadWrite);  // Read too, because row padding must survive.
  Tensor target = mapping.tensor();
  Tensor(tensor.element_type(), tensor.shape(), const_cast<std::byte*>(in.data())).copy_to(target);
}

TENON_INLINE Context context() {
  static const auto& the = process_wide<detail::TheContext>("tenon.ipc.Context.1");
  return the.context;
}
TENON_INLINE std::vector<Context> contexts() { return {context()}; }

TENON_INLINE int fd(const Tensor& tensor) {
  if (const auto found = detail::find_fd(tensor)) return *found;
  throw Error(Code::kInvalidArgument,
              "ipc: " + (tensor ? to_string(tensor) : std::string("an empty tensor")) +
                  " is not memory for other processes; map it to ipc::context() with a Router first");
}

TENON_INLINE void seal_for_readers(const Tensor& tensor) {
  const int descriptor = fd(tensor);
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & (F_SEAL_WRITE | detail::kSealFutureWrite))) return;  // A dma-buf, or sealed already.
  if (::fcntl(descriptor, F_ADD_SEALS, detail::kSealFutureWrite) == 0) return;
  const int error = errno;
  throw Error(error == EINVAL ? Code::kUnimplemented : Code::kPermissionDenied,
              "ipc: a memfd of " + std::to_string(tensor.memory()->size_bytes()) +
                  " bytes cannot be sealed against writing by its readers; share it writable, or allocate it elsewhere",
              "fcntl(F_ADD_SEALS)", error);
}

}  // namespace ipc
}  // namespace v1
}  // namespace tenon
