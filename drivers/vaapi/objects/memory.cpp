// SPDX-License-Identifier: Apache-2.0
// Allocates and imports by frameworks/dmabuf's rules; maps once for the memory's lifetime.
#include <tenon/drivers/vaapi/objects/memory.hpp>

#include <sys/mman.h>
#include <utility>

#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>

namespace tenon::va {
namespace {

/// Uses the best allocator that works: a process may be allowed to open a dma-heap but not to allocate from it.
UniqueFd allocate_fd(std::size_t size_bytes) {
  static const auto& all = *new std::vector<dmabuf::Allocator>(dmabuf::allocators());
  for (const dmabuf::Allocator& allocator : all) {
    if (&allocator == &all.back()) break;
    try {
      return dmabuf::client::allocate_fd(allocator, size_bytes);
    } catch (const Error&) {  // Tries the next one; the last error is reported.
    }
  }
  return dmabuf::client::allocate_fd(all.back(), size_bytes);
}

}  // namespace

std::shared_ptr<Memory> Memory::allocate(std::size_t size_bytes) {
  UniqueFd fd = allocate_fd(size_bytes);
  const auto found = dmabuf::client::inspect(fd.get(), size_bytes);
  return std::shared_ptr<Memory>(new Memory(std::move(fd), found.properties.size_bytes, false, !found.stand_in));
}

std::shared_ptr<Memory> Memory::import(int fd, std::size_t size_bytes) {
  const auto found = dmabuf::client::inspect(fd, size_bytes);
  std::shared_ptr<Memory> memory(
      new Memory(UniqueFd::duplicate(fd), found.properties.size_bytes, found.properties.read_only, !found.stand_in));
  memory->is_imported_ = memory->is_seen_elsewhere_ = true;
  return memory;
}

Memory::Memory(UniqueFd fd, std::size_t size_bytes, bool read_only, bool is_dmabuf)
    : fd_(std::move(fd)),
      data_(static_cast<std::uint8_t*>(dmabuf::client::map_whole(fd_.get(), size_bytes, read_only))),
      size_(size_bytes),
      read_only_(read_only),
      is_dmabuf_(is_dmabuf) {}

Memory::~Memory() { ::munmap(data_, size_); }

// If a device is late or gone, the access goes on with the current pixels.
void Memory::begin(Access access) const noexcept {
  if (is_dmabuf_) (void)dmabuf::client::start_access(fd_.get(), access);
}

void Memory::end(Access access) const noexcept {
  if (is_dmabuf_) (void)dmabuf::client::end_access(fd_.get(), access);
}

}  // namespace tenon::va
