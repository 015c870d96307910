// SPDX-License-Identifier: Apache-2.0
// Buffers of V4L2 drivers as memory, the context of a device, and its edges: to the CPU, to dma-bufs, and from both.
#pragma once

#include <linux/videodev2.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/standing_view.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cpu/pages.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/dmabuf/standing.hpp>
#include <tenon/frameworks/v4l2/device.hpp>
#include <tenon/frameworks/v4l2/native.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2 {

/// `Tensor::kind()` of memory that a V4L2 driver allocated.
inline constexpr MemoryKind kV4l2Memory{"v4l2"};

class DeviceContext;
/// The context of the device at `path`: one per path in the process. Opens nothing.
inline Context context(const std::string& path);

/// A buffer that a driver allocated (V4L2_MEMORY_MMAP), exported as a dma-buf where the driver can. It outlives the
/// stream and the descriptor of the device that it came from.
/// @thread as Memory.
class BufferMemory final : public Memory {
 public:
  /// Plane `plane` of buffer `index`. Exports it (VIDIOC_EXPBUF), and maps it through what was exported, so that no mapping
  /// keeps the device occupied; a driver that exports nothing maps it itself.
  /// @param map  False: for devices only.
  /// @errors kUnavailable: unplugged; kResourceExhausted; those of the calls
  static Ref<BufferMemory> make(const Context& context, const Device& device, std::uint32_t type, std::uint32_t index,
                                std::uint32_t plane, std::size_t size_bytes, std::uint64_t mmap_offset,
                                bool map = true) {
    const std::string what = device.what() + ": buffer " + std::to_string(index);
    UniqueFd exported = export_buffer(device, type, index, plane, what);
    Properties properties;
    properties.size_bytes = size_bytes;
    if (exported) {
      properties.fd = dmabuf::client::is_dmabuf(exported.get()) ? FdKind::kDmabuf : FdKind::kMemfd;
      struct stat status {};
      if (::fstat(exported.get(), &status) != 0) native::fail(what, "fstat", errno);
      properties.identity = {MemoryIdentity::Kind::kInode, static_cast<std::uint64_t>(status.st_dev),
                             static_cast<std::uint64_t>(status.st_ino)};
    }
    if (map) properties.host = map_buffer(device, exported.get(), size_bytes, mmap_offset, what);
    auto* made = new (std::nothrow) BufferMemory(context, properties, std::move(exported));
    if (!made) {
      if (properties.host) ::munmap(properties.host, size_bytes);
      throw Error(Code::kResourceExhausted, "v4l2: " + what + ": no host memory left");
    }
    return Ref<BufferMemory>(made);
  }
  ~BufferMemory() override {
    drop_views();
    if (host()) ::munmap(host(), size_bytes());
  }
  int borrow_fd() const override { return fd_.get(); }

 private:
  BufferMemory(const Context& context, const Properties& properties, UniqueFd fd)
      : Memory(context, kV4l2Memory, properties), fd_(std::move(fd)) {}

  /// None where the driver cannot.
  static UniqueFd export_buffer(const Device& device, std::uint32_t type, std::uint32_t index, std::uint32_t plane,
                                const std::string& what) {
    v4l2_exportbuffer request{};
    request.type = type;
    request.index = index;
    request.plane = plane;
    request.flags = O_RDWR | O_CLOEXEC;
    const int error = native::ioctl(device.fd().get(), VIDIOC_EXPBUF, &request);
    if (error == 0) return UniqueFd(request.fd);
    if (error != ENOTTY && error != EINVAL) native::fail(what + ": exporting it", native::name(VIDIOC_EXPBUF), error);
    return UniqueFd();
  }
  static void* map_buffer(const Device& device, int exported, std::size_t size_bytes, std::uint64_t offset,
                          const std::string& what) {
    const int fd = exported >= 0 ? exported : device.fd().get();
    void* address = native::mmap(fd, size_bytes, exported >= 0 ? 0 : offset);
    if (address == MAP_FAILED) native::fail(what + ": mapping " + std::to_string(size_bytes) + " bytes", "mmap", errno);
    return address;
  }

  UniqueFd fd_;
};

/// Memory of another framework as a device takes it: by descriptor (V4L2_MEMORY_DMABUF).
class ImportView final : public View {
 public:
  ImportView(Context context, Access access, int fd)
      : View(std::move(context), kV4l2Memory, access, nullptr), fd_(fd) {}
  int borrow_fd() const { return fd_; }

 private:
  int fd_;
};

/// How a device reaches the memory of a tensor, from the first byte of the memory.
struct Place {
  int fd = -1;              ///< For V4L2_MEMORY_DMABUF; -1: none.
  void* pointer = nullptr;  ///< For V4L2_MEMORY_USERPTR; null: none.
};
/// @errors kInvalidArgument: a tensor of another framework.
inline Place place_of(const Tensor& tensor) {
  if (tensor && tensor.view() && tensor.kind() == kV4l2Memory) {
    if (const auto* import = dynamic_cast<const ImportView*>(tensor.view())) return {import->borrow_fd(), nullptr};
    return {-1, tensor.view()->host()};
  }
  if (tensor && !tensor.view())
    if (const auto* memory = dynamic_cast<const BufferMemory*>(tensor.memory().get()))
      return {memory->borrow_fd(), memory->host()};
  throw Error(Code::kInvalidArgument,
              "v4l2: " + (tensor ? tenon::to_string(tensor) : std::string("an empty tensor")) +
                  " is no memory of a V4L2 device; map it to v4l2::context() with a Router first");
}

namespace detail {

/// Real drivers import dma-bufs only. One that a test plays takes the memfds that stand in for them.
inline bool takes_stand_ins() { return native::driver.load(std::memory_order_relaxed) != &native::kKernel; }

/// A driver cares for caches when it gives a buffer out and gets it back, so the CPU needs no bracket.
class BufferToCpu final : public HostEdge {
 public:
  std::string_view name() const override { return "v4l2->cpu"; }
  MemoryKind from() const override { return kV4l2Memory; }
  MemoryKind to() const override { return kCpuMemory; }
};

class BufferToDmabuf final : public Edge {
 public:
  std::string_view name() const override { return "v4l2->dmabuf"; }
  MemoryKind from() const override { return kV4l2Memory; }
  MemoryKind to() const override { return dmabuf::kDmabufMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    if (!from.fd.serves(FdKind::kMemfd))
      return Refusal{"its driver does not export its buffers (VIDIOC_EXPBUF), or the memory has no descriptor"};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    Reached reached = shared_in_place(from, to, dmabuf::kDmabufMemory, 60);
    reached.result.alignment = 1;
    reached.result.host_addressable = false;
    return reached;
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    settle(source, to, options);
    if (source.memory()->context() == to) return source.through(nullptr);
    return dmabuf::client::standing_descriptor(*this, source, to, options.access);
  }
  bool makes_standing_views(const Context&) const override { return true; }
};

/// Host memory as a device writes or reads it: V4L2_MEMORY_USERPTR.
class CpuToDevice final : public HostEdge {
 public:
  std::string_view name() const override { return "cpu->v4l2"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kV4l2Memory; }

 private:
  std::optional<Refusal> refuses(const Description& from) const override {
    // Its pages may be a device's, which drivers do not take by address.
    if (from.fd == FdKind::kDmabuf) return Refusal{"memory of a dma-buf goes by its descriptor"};
    if (from.alignment >= cpu::page_bytes()) return std::nullopt;
    return Refusal{"V4L2_MEMORY_USERPTR takes whole pages, and the memory is aligned to " +
                   std::to_string(from.alignment) + " bytes; allocate with an alignment of a page, or as a memfd"};
  }
};

class DmabufToDevice final : public Edge {
 public:
  std::string_view name() const override { return "dmabuf->v4l2"; }
  MemoryKind from() const override { return dmabuf::kDmabufMemory; }
  MemoryKind to() const override { return kV4l2Memory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    if (from.fd != FdKind::kDmabuf && !(takes_stand_ins() && from.fd == FdKind::kMemfd))
      return Refusal{"V4L2_MEMORY_DMABUF takes dma-bufs only, and this is a " + std::string(from.fd.name()) +
                     " that stands in for one"};
    if (from.modifier != kModifierLinear)
      return Refusal{"V4L2 knows no DRM modifiers: its drivers read and write rows, and these pixels are tiled"};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    Reached reached = shared_in_place(from, to, kV4l2Memory, 100);
    reached.result.alignment = 1;
    reached.result.host_addressable = false;
    return reached;
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    settle(source, to, options);
    if (source.memory()->context() == to) return source.through(nullptr);
    return standing_view(*this, source, to, kV4l2Memory, options.access,
                         [&] { return std::make_unique<ImportView>(to, widest_access(source), dmabuf::fd(source)); });
  }
  bool makes_standing_views(const Context&) const override { return true; }
};

inline const BufferToCpu buffer_to_cpu;
inline const BufferToDmabuf buffer_to_dmabuf;
inline const CpuToDevice cpu_to_device;
inline const DmabufToDevice dmabuf_to_device;
inline constexpr const Edge* kEdges[] = {&buffer_to_cpu, &buffer_to_dmabuf, &cpu_to_device, &dmabuf_to_device};

}  // namespace detail

/// A V4L2 device as a context: memory that its driver allocates, and memory that it imports.
class DeviceContext final : public ContextImpl {
 public:
  explicit DeviceContext(std::string path) : path_(std::move(path)), name_("v4l2:" + path_) {}
  std::string_view name() const override { return name_; }
  MemoryKind kind() const override { return kV4l2Memory; }
  const std::string& path() const { return path_; }
  std::span<const Edge* const> edges() const override { return detail::kEdges; }
  Requirements requirements() const override {
    Requirements wanted;
    wanted.alignment = cpu::page_bytes();
    return wanted;
  }
  std::string_view remedy() const override {
    return "give the device memory of a descriptor or of whole pages (Camera::use_pool), or a driver that exports";
  }

  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override {
    const FdKind made = detail::takes_stand_ins() ? FdKind::kMemfd : FdKind::kDmabuf;
    if (!made.serves(wanted.fd))
      return Refusal{"a descriptor of kind " + std::string(wanted.fd.name()) +
                     " was asked for; drivers export dma-bufs"};
    if (wanted.alignment > cpu::page_bytes())
      return Refusal{"memory aligned to " + std::to_string(wanted.alignment) +
                     " bytes was asked for; buffers are aligned to pages"};
    if (wanted.size_bytes + wanted.tail_padding > UINT32_MAX - cpu::page_bytes())
      return Refusal{"V4L2 counts the bytes of a buffer in 32 bits"};
    return Offer{cpu::page_bytes(), made, 0, wanted.host_access};
  }
  /// A buffer of the driver, exported and given up by the device at once: it belongs to no stream. Host-addressable when
  /// `wanted.host_access`; otherwise the CPU reaches it as a dma-buf.
  /// @errors kUnavailable: unplugged, or its queue is in use; kUnimplemented: its driver exports nothing, or what offer()
  /// refuses; kResourceExhausted. @cost opens the device.
  Ref<Memory> allocate(const Requirements& wanted) override {
    check_offer(wanted);
    const Device device(path_);
    const std::uint32_t type = device.capture_type();
    const v4l2_format now = device.format(type);
    const detail::Said said = detail::said_by(now);
    const std::size_t size =
        whole_pages(std::max({wanted.size_bytes + wanted.tail_padding, said.size[0], std::size_t{1}}));
    v4l2_create_buffers request{};
    request.count = 1;
    request.memory = V4L2_MEMORY_MMAP;
    request.format = now;
    if (V4L2_TYPE_IS_MULTIPLANAR(type))
      request.format.fmt.pix_mp.plane_fmt[0].sizeimage = static_cast<std::uint32_t>(size);
    else
      request.format.fmt.pix.sizeimage = static_cast<std::uint32_t>(size);
    native::require(device.fd().get(), VIDIOC_CREATE_BUFS, &request,
                    device.what() + ": a buffer of " + std::to_string(size) + " bytes");
    Ref<Memory> made = BufferMemory::make(Context{Ref<ContextImpl>(this)}, device, type, request.index, 0, size, 0,
                                          wanted.host_access);
    if (made->borrow_fd() < 0)
      throw Error(Code::kUnimplemented, "v4l2: " + device.what() + ": its driver does not export its buffers",
                  native::name(VIDIOC_EXPBUF), ENOTTY);
    return made;
  }

  /// Through a mapping of its own: what another process with the descriptor would see.
  void read(const Tensor& tensor, std::span<std::byte> out) const override {
    if (tensor.is_host_addressable()) return ContextImpl::read(tensor, out);
    if (tensor.view()) return tensor.memory()->context()->read(tensor.through(nullptr), out);
    Tensor packed(tensor.element_type(), tensor.shape(), out.data());
    dmabuf::CpuAccess access(as_dmabuf(tensor), Access::kRead);
    access.tensor().copy_to(packed);
    access.end();
  }
  void write(const Tensor& tensor, std::span<const std::byte> in) const override {
    if (tensor.is_host_addressable()) return ContextImpl::write(tensor, in);
    if (tensor.view()) return tensor.memory()->context()->write(tensor.through(nullptr), in);
    dmabuf::CpuAccess access(as_dmabuf(tensor), Access::kReadWrite);
    Tensor target = access.tensor();
    Tensor(tensor.element_type(), tensor.shape(), const_cast<std::byte*>(in.data())).copy_to(target);
    access.end();
  }

 private:
  static std::size_t whole_pages(std::size_t size) {
    return (size + cpu::page_bytes() - 1) / cpu::page_bytes() * cpu::page_bytes();
  }
  static Tensor as_dmabuf(const Tensor& tensor) { return detail::buffer_to_dmabuf.map(tensor, dmabuf::context(), {}); }

  std::string path_, name_;
};

inline Context context(const std::string& path) {
  struct Known {
    std::mutex mutex;
    std::map<std::string, Context> contexts;
  };
  static auto* known = new Known;  // Outlives static destructors that hold frames.
  std::lock_guard lock(known->mutex);
  Context& found = known->contexts[path];
  if (!found) found = Context(make_ref<DeviceContext>(path));
  return found;
}

}  // namespace v4l2
}  // namespace v1
}  // namespace tenon
