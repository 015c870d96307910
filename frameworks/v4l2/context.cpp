// SPDX-License-Identifier: Apache-2.0
// V4L2 devices as contexts: their buffers as memory, and the edges.
#include <tenon/frameworks/v4l2/context.hpp>

#include <linux/videodev2.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/standing_view.hpp>
#include <tenon/frameworks/cpu/pages.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/dmabuf/standing.hpp>
#include <tenon/frameworks/v4l2/contexts.hpp>
#include <tenon/frameworks/v4l2/native.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2 {

TENON_INLINE Ref<BufferMemory> BufferMemory::make(const Context& context, const Device& device, std::uint32_t type,
                                                  std::uint32_t index, std::uint32_t plane, std::size_t size_bytes,
                                                  std::uint64_t mmap_offset, bool map) {
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

TENON_INLINE BufferMemory::~BufferMemory() {
  drop_views();
  if (host()) ::munmap(host(), size_bytes());
}

TENON_INLINE BufferMemory::BufferMemory(const Context& context, const Properties& properties, UniqueFd fd)
    : Memory(context, kV4l2Memory, properties), fd_(std::move(fd)) {}

TENON_INLINE UniqueFd BufferMemory::export_buffer(const Device& device, std::uint32_t type, std::uint32_t index,
                                                  std::uint32_t plane, const std::string& what) {
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

TENON_INLINE void* BufferMemory::map_buffer(const Device& device, int exported, std::size_t size_bytes,
                                            std::uint64_t offset, const std::string& what) {
  const int fd = exported >= 0 ? exported : device.fd().get();
  void* address = native::mmap(fd, size_bytes, exported >= 0 ? 0 : offset);
  if (address == MAP_FAILED) native::fail(what + ": mapping " + std::to_string(size_bytes) + " bytes", "mmap", errno);
  return address;
}

TENON_INLINE ImportView::ImportView(Context context, Access access, int fd)
    : View(std::move(context), kV4l2Memory, access, nullptr), fd_(fd) {}

TENON_INLINE Place place_of(const Tensor& tensor) {
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

TENON_INLINE bool takes_stand_ins() { return native::driver.load(std::memory_order_relaxed) != &native::kKernel; }

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

/// Also what read() and write() reach dma-bufs by.
TENON_INLINE const BufferToDmabuf& buffer_to_dmabuf() {
  static const BufferToDmabuf edge;
  return edge;
}

}  // namespace detail

TENON_INLINE std::span<const Edge* const> DeviceContext::edges() const {
  static const detail::BufferToCpu to_cpu;
  static const detail::CpuToDevice from_cpu;
  static const detail::DmabufToDevice from_dmabuf;
  static const Edge* const all[] = {&to_cpu, &detail::buffer_to_dmabuf(), &from_cpu, &from_dmabuf};
  return all;
}

TENON_INLINE Requirements DeviceContext::requirements() const {
  Requirements wanted;
  wanted.alignment = cpu::page_bytes();
  return wanted;
}

TENON_INLINE std::string_view DeviceContext::remedy() const {
  return "give the device memory of a descriptor or of whole pages (Camera::use_pool), or a driver that exports";
}

TENON_INLINE std::variant<Offer, Refusal> DeviceContext::offer(const Requirements& wanted) const {
  const FdKind made = detail::takes_stand_ins() ? FdKind::kMemfd : FdKind::kDmabuf;
  if (!made.serves(wanted.fd))
    return Refusal{"a descriptor of kind " + std::string(wanted.fd.name()) + " was asked for; drivers export dma-bufs"};
  if (wanted.alignment > cpu::page_bytes())
    return Refusal{"memory aligned to " + std::to_string(wanted.alignment) +
                   " bytes was asked for; buffers are aligned to pages"};
  if (wanted.size_bytes + wanted.tail_padding > UINT32_MAX - cpu::page_bytes())
    return Refusal{"V4L2 counts the bytes of a buffer in 32 bits"};
  return Offer{cpu::page_bytes(), made, 0, wanted.host_access};
}

TENON_INLINE Ref<Memory> DeviceContext::allocate(const Requirements& wanted) {
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
  Ref<Memory> made =
      BufferMemory::make(Context{Ref<ContextImpl>(this)}, device, type, request.index, 0, size, 0, wanted.host_access);
  if (made->borrow_fd() < 0)
    throw Error(Code::kUnimplemented, "v4l2: " + device.what() + ": its driver does not export its buffers",
                native::name(VIDIOC_EXPBUF), ENOTTY);
  return made;
}

TENON_INLINE void DeviceContext::read(const Tensor& tensor, std::span<std::byte> out) const {
  if (tensor.is_host_addressable()) return ContextImpl::read(tensor, out);
  if (tensor.view()) return tensor.memory()->context()->read(tensor.through(nullptr), out);
  Tensor packed(tensor.element_type(), tensor.shape(), out.data());
  dmabuf::CpuAccess access(as_dmabuf(tensor), Access::kRead);
  access.tensor().copy_to(packed);
  access.end();
}

TENON_INLINE void DeviceContext::write(const Tensor& tensor, std::span<const std::byte> in) const {
  if (tensor.is_host_addressable()) return ContextImpl::write(tensor, in);
  if (tensor.view()) return tensor.memory()->context()->write(tensor.through(nullptr), in);
  dmabuf::CpuAccess access(as_dmabuf(tensor), Access::kReadWrite);
  Tensor target = access.tensor();
  Tensor(tensor.element_type(), tensor.shape(), const_cast<std::byte*>(in.data())).copy_to(target);
  access.end();
}

TENON_INLINE std::size_t DeviceContext::whole_pages(std::size_t size) {
  return (size + cpu::page_bytes() - 1) / cpu::page_bytes() * cpu::page_bytes();
}

TENON_INLINE Tensor DeviceContext::as_dmabuf(const Tensor& tensor) {
  return detail::buffer_to_dmabuf().map(tensor, dmabuf::context(), {});
}

TENON_INLINE Context context(const std::string& path) {
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

TENON_INLINE std::vector<Context> contexts() {
  std::vector<Context> found;
  for (const std::string& path : device_paths()) {
    try {
      const Device device(path);
      if (device.captures() || device.converts()) found.push_back(context(path));
    } catch (const Error&) {
      // Not ours to use, or gone in the meantime.
    }
  }
  return found;
}

TENON_INLINE std::string why_none() {
  return "no device of this machine (/dev/video0...) gives pictures into buffers, or it is not ours to open";
}

}  // namespace v4l2
}  // namespace v1
}  // namespace tenon
