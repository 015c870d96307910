// SPDX-License-Identifier: Apache-2.0
// Descriptors of POSIX: whose an imported one is, what tells two apart, and tests of what the device makes of a dma-buf.
#include <tenon/frameworks/opencl/external.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/process_wide.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>
#include <tenon/frameworks/dmabuf/sync.hpp>
#include <tenon/frameworks/opencl/device.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

/// Whether the driver closes the descriptors that it imports. OpenCL leaves that open: NVIDIA's closes them when the buffer
/// goes, others at once, others never; and a descriptor that two close is another thread's file the second time. So a buffer
/// is imported and released to see it. The number is high, where no new descriptor lands meanwhile.
/// @errors those of the import.
TENON_INLINE bool driver_closes(const Native& native, int fd, FdKind kind, std::size_t size) {
  using Owner = Native::DescriptorOwner;
  std::atomic<Owner>& owner = native.descriptor_owners[handle_type_of(kind) == kMemoryDmabuf ? 1 : 0];
  if (owner.load() != Owner::kUnknown) return owner.load() == Owner::kDriver;
  const std::lock_guard lock(process_wide<std::mutex>("opencl.driver_closes"));
  constexpr int kHigh = 512;
  UniqueFd tried(::fcntl(fd, F_DUPFD_CLOEXEC, kHigh));
  if (!tried) tried = UniqueFd::duplicate(fd);  // A low limit of open files.
  import_descriptor(native, tried.get(), kind, size).reset();
  const bool closed = ::fcntl(tried.get(), F_GETFD) < 0;
  if (closed) (void)tried.release();
  owner = closed ? Owner::kDriver : Owner::kImporter;
  return closed;
}

TENON_INLINE Handle<cl_mem> import_buffer(const Native& native, int fd, FdKind kind, std::size_t size,
                                          const ImportedRows* rows) {
  const bool is_drivers = driver_closes(native, fd, kind, size);
  UniqueFd given = UniqueFd::duplicate(fd);
  Handle<cl_mem> made = import_descriptor(native, given.get(), kind, size, rows);
  if (is_drivers) (void)given.release();
  return made;
}

TENON_INLINE MemoryIdentity identity_of_file(int fd, const MemoryIdentity& otherwise) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return otherwise;
  return {MemoryIdentity::Kind::kInode, static_cast<std::uint64_t>(status.st_dev),
          static_cast<std::uint64_t>(status.st_ino)};
}

/// Writes by the host and copies by the device, through one dma-buf or its stand-in. @errors those of native calls.
TENON_INLINE bool aliases_descriptor(const Native& native, const Memory& memory, FdKind kind) {
  const std::size_t size = memory.size_bytes();
  const Tensor bytes({ElementType::kU8, {size}, {}}, Ref<Memory>(const_cast<Memory*>(&memory)));
  const Handle<cl_mem> buffer = import_buffer(native, memory.borrow_fd(), kind, size);
  Possession possession(native, buffer.get());
  const auto on_host = [&](const std::function<bool(std::byte*)>& use) {
    dmabuf::CpuAccess access(bytes, Access::kReadWrite);
    const bool result = use(static_cast<std::byte*>(access.data()));
    access.end();
    return result;
  };
  return aliases(
      native, buffer.get(), size, on_host, [&] { possession.take(memory).wait(); },
      [&] { possession.give_back(memory).wait(); });
}

/// An image over a dma-buf or its stand-in, whose rows lie at a pitch: what the host wrote there it holds, what is written
/// to it the host finds, and what lies between the rows stays. False as well where such an image cannot be made.
TENON_INLINE bool aliases_picture(const Native& native, const Memory& memory, FdKind kind) try {
  constexpr std::size_t kWidth = 16, kHeight = 4, kPitch = kProbeBytes / kHeight;
  const std::size_t size = memory.size_bytes();
  const Tensor bytes({ElementType::kU8, {size}, {}}, Ref<Memory>(const_cast<Memory*>(&memory)));
  const ImportedRows rows = imported_rows({CL_R, CL_UNSIGNED_INT8}, kWidth, kHeight, kPitch);
  const Handle<cl_mem> image = import_buffer(native, memory.borrow_fd(), kind, size, &rows);
  const auto byte_at = [](std::size_t x, std::size_t y) { return static_cast<std::uint8_t>(x * 7 + y * 31 + 1); };
  {
    dmabuf::CpuAccess access(bytes, Access::kReadWrite);
    auto* const all = static_cast<std::uint8_t*>(access.data());
    for (std::size_t i = 0; i < kProbeBytes; ++i) all[i] = byte_at(i % kPitch, i / kPitch);
    access.end();
  }
  Possession possession(native, image.get());
  possession.take(memory).wait();
  std::array<std::uint8_t, kWidth * kHeight> pixels{};
  const std::size_t origin[3] = {}, region[3] = {kWidth, kHeight, 1};
  check(call(clEnqueueReadImage, native.transfers.get(), image.get(), cl_bool{CL_TRUE}, &origin[0], &region[0],
             std::size_t{0}, std::size_t{0}, static_cast<void*>(pixels.data()), cl_uint{0},
             static_cast<const cl_event*>(nullptr), static_cast<cl_event*>(nullptr)),
        "clEnqueueReadImage", "testing an image over a dma-buf");
  bool same = true;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    same = same && pixels[i] == byte_at(i % kWidth, i / kWidth);
    pixels[i] = static_cast<std::uint8_t>(200 + i % 50);
  }
  check(call(clEnqueueWriteImage, native.transfers.get(), image.get(), cl_bool{CL_TRUE}, &origin[0], &region[0],
             std::size_t{0}, std::size_t{0}, static_cast<const void*>(pixels.data()), cl_uint{0},
             static_cast<const cl_event*>(nullptr), static_cast<cl_event*>(nullptr)),
        "clEnqueueWriteImage", "testing an image over a dma-buf");
  possession.give_back(memory).wait();
  dmabuf::CpuAccess access(bytes, Access::kRead);
  const auto* const all = static_cast<const std::uint8_t*>(access.data());
  for (std::size_t i = 0; i < kProbeBytes; ++i) {
    const std::size_t x = i % kPitch, y = i / kPitch;
    same = same && all[i] == (x < kWidth ? pixels[y * kWidth + x] : byte_at(x, y));
  }
  access.end();
  return same;
} catch (const Error& error) {
  if (error.native_code() == injected_code()) throw;
  return false;
}

TENON_INLINE void judge_dmabufs(Native& native) {
  const Device& device = native.device;
  const dmabuf::Allocator best = dmabuf::allocators().front();
  const bool stand_in = best.kind == dmabuf::Allocator::Kind::kStandIn;
  std::string obstacle;
  try {
    const Ref<Memory> memory = dmabuf::allocate(best, kProbeBytes);
    if (!aliases_descriptor(native, *memory, stand_in ? FdKind::kMemfd : FdKind::kDmabuf))
      obstacle = "says that it imports dma-bufs, and reads or writes other memory than theirs (an alias test)";
    if (contains(device.linear_image_imports, kMemoryDmabuf) &&
        !(obstacle.empty() && aliases_picture(native, *memory, stand_in ? FdKind::kMemfd : FdKind::kDmabuf)))
      std::erase(native.device.linear_image_imports, kMemoryDmabuf);
  } catch (const Error& error) {
    if (error.native_code() == injected_code()) throw;
    obstacle = std::string("says that it imports dma-bufs, and a test did not succeed: ") + error.what();
  }
  if (stand_in)
    native.imports_memfd = obstacle.empty();
  else if (!obstacle.empty())
    native.dmabuf_obstacle = device.name + " (" + device.platform_name + ") " + obstacle;
}

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
