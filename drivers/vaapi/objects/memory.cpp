// SPDX-License-Identifier: Apache-2.0
// Allocates and imports through frameworks/dmabuf's rules, mapped once for the memory's life.
#include <tenon/drivers/vaapi/objects/memory.hpp>

#include <sys/mman.h>
#include <utility>

#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>

namespace tenon::va {
namespace {

/// The best allocator that works here: a kernel may have a heap that this process may open and not use.
UniqueFd allocate_fd(std::size_t size_bytes) {
  static const auto& all = *new std::vector<dmabuf::Allocator>(dmabuf::allocators());
  for (const dmabuf::Allocator& allocator : all) {
    if (&allocator == &all.back()) break;
    try {
      return dmabuf::client::allocate_fd(allocator, size_bytes);
    } catch (const Error&) {  // The next one is tried; the last one's error counts.
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

// A device that is late or gone: the pixels are what they are.
void Memory::begin(Access access) const noexcept {
  if (is_dmabuf_) (void)dmabuf::client::start_access(fd_.get(), access);
}

void Memory::end(Access access) const noexcept {
  if (is_dmabuf_) (void)dmabuf::client::end_access(fd_.get(), access);
}

}  // namespace tenon::va
