// SPDX-License-Identifier: Apache-2.0
// Allocations and imports. Each mapping has a guard page in front, so that it never begins where a client's memory ends
// (clients mistake a known address right behind their memory for an overlap).
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>

#include <tenon/drivers/handles/objects.hpp>
#include <tenon/drivers/npu/objects/memory.hpp>
#include <tenon/drivers/npu/objects/reservation.hpp>
#include <tenon/drivers/npu/objects/result.hpp>
#include <tenon/drivers/npu/objects/settings.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>

namespace tenon::npu {
namespace {

constexpr std::size_t round_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

std::uint64_t next_id() noexcept {
  static std::atomic<std::uint64_t> id{0};
  return ++id;
}

/// Finds the size of a descriptor's object, and whether it is writable. @return false if it is not memory.
bool examine_fd(int fd, std::uint64_t* size, bool* writable) noexcept {
  struct stat status {};
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_PATH) || ::fstat(fd, &status) != 0) return false;
  const auto type = status.st_mode & S_IFMT;
  if (type != S_IFREG && type != 0) return false;  // dma-bufs have no type; pipes, sockets and terminals have one.
  const int access = flags & O_ACCMODE;
  if (access == O_WRONLY) return false;
  *writable = access == O_RDWR;
  *size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  if (type == 0 && *size == 0) {  // Older kernels tell a dma-buf's size by lseek only.
    const off_t end = ::lseek(fd, 0, SEEK_END);
    if (end <= 0) return false;
    ::lseek(fd, 0, SEEK_SET);
    *size = static_cast<std::uint64_t>(end);
  }
  return true;
}

/// False for dma-bufs, whose size is fixed, and for sealed files.
bool may_shrink(int fd) noexcept {
  struct stat status {};
  if (::fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == 0) return false;
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals < 0 || (seals & F_SEAL_SHRINK) == 0;
}

int protection_of(ze_memory_access_attribute_t access) noexcept {
  if (access == ZE_MEMORY_ACCESS_ATTRIBUTE_NONE) return PROT_NONE;
  return access == ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY ? PROT_READ : PROT_READ | PROT_WRITE;
}

bool is_dma_buf(int fd) noexcept try { return dmabuf::client::is_dmabuf(fd); } catch (const Error&) {
  return false;
}

/// Whether every byte of the range is mapped and readable. @param writable  whether every byte is writable too.
bool examine_range(std::uintptr_t begin, std::uintptr_t end, bool* writable) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  std::uintptr_t covered = begin;
  *writable = true;
  while (covered < end && std::getline(maps, line)) {
    std::uintptr_t first = 0, last = 0;
    char access[5] = {};
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s", &first, &last, access) != 3 || last <= covered)
      continue;
    if (first > covered || access[0] != 'r') return false;
    *writable = *writable && access[1] == 'w';
    covered = last;
  }
  return covered >= end;
}

/// The entry that shares a byte with the range, or null.
const std::shared_ptr<Allocation>* overlapped(const std::map<std::uintptr_t, std::shared_ptr<Allocation>>& entries,
                                              std::uintptr_t begin, std::size_t size) {
  const auto behind = entries.lower_bound(begin);
  if (behind != entries.end() && behind->first - begin < size) return &behind->second;
  if (behind == entries.begin()) return nullptr;
  const auto before = std::prev(behind);
  return begin - before->first < before->second->size() ? &before->second : nullptr;
}

/// @return -1 with errno if udmabuf cannot.
int dma_buf_of(const UniqueFd& memfd, std::size_t size) noexcept try {
  return dmabuf::client::udmabuf_over(memfd.get(), size).release();
} catch (const Error& error) {
  errno = static_cast<int>(error.native_code());
  return -1;
} catch (...) {
  errno = ENOMEM;
  return -1;
}

std::atomic<std::uint64_t> memory_limit{0};

std::mutex sharing;  ///< Guards the step from memory of its own to a file.

/// 0: no file, or "max". Takes no memory: calls that cannot fail ask for it.
std::uint64_t read_number(const char* path) noexcept {
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  char text[32];
  const ssize_t size = file ? ::read(file.get(), text, sizeof text) : 0;
  std::uint64_t value = 0;
  return size > 0 && std::from_chars(text, text + size, value).ec == std::errc() ? value : 0;
}

}  // namespace

ze_result_t make_memory_file(std::size_t size, UniqueFd* file) try {
  *file = dmabuf::client::sealed_memfd(size);
  return ::fcntl(file->get(), F_ADD_SEALS, F_SEAL_SEAL) == 0 ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNKNOWN;
} catch (const Error& error) {
  return error.native_api() == "memfd_create" ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
                                              : ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

MemoryAccount& process_memory() noexcept {
  static MemoryAccount account;  // Nothing is left to destroy at exit: clients free from their own destructors.
  return account;
}

std::uint64_t machine_memory_bytes() noexcept {
  static const std::uint64_t bytes = [] {
    std::uint64_t total = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 1L)) *
                          static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGE_SIZE), 1L));
    for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
      if (const std::uint64_t limit = read_number(path)) total = std::min(total, limit);
    if (const char* text = std::getenv("TENON_NPU_MEMORY"); text && *text) {
      std::uint64_t limit = 0;
      const std::string_view view(text);
      const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), limit);
      if (error == std::errc() && end == view.data() + view.size() && limit != 0)
        total = std::min(total, limit);
      else
        std::fprintf(stderr, "libze_tenon_npu: TENON_NPU_MEMORY is '%s', and no number of bytes\n", text);
    }
    return total;
  }();
  const std::uint64_t limit = memory_limit.load(std::memory_order_relaxed);
  return limit != 0 ? std::min(bytes, limit) : bytes;
}

void limit_machine_memory(std::uint64_t bytes) noexcept { memory_limit.store(bytes, std::memory_order_relaxed); }

bool can_export_dma_buf() noexcept { return dmabuf::client::has_udmabuf(); }

Allocation::~Allocation() {
  if (reserved_) ::munmap(reserved_, reserved_size_);
  unmap();
  if (accounted_ == 0) return;
  process_memory().remove(accounted_);
  for (const auto& account : description_.accounts)
    if (account) account->remove(accounted_);
}

ze_result_t Allocation::map(std::size_t size, std::size_t alignment, int fd, int protection) {
  alignment = std::max(alignment, kPageSize);
  const std::size_t whole = round_up(size, kPageSize);
  if (alignment > SIZE_MAX / 4 || whole > SIZE_MAX / 4) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  reserved_size_ = whole + alignment;  // At least one guard page before the data.
  void* reserved = ::mmap(nullptr, reserved_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  reserved_ = static_cast<std::byte*>(reserved);
  const auto begin = reinterpret_cast<std::uintptr_t>(reserved_);
  std::byte* data = reserved_ + (begin / alignment * alignment + alignment - begin);
  if (fd >= 0) {
    if (::mmap(data, whole, protection, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
      return errno == ENOMEM ? ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY : ZE_RESULT_ERROR_INVALID_ARGUMENT;
  } else if (::mprotect(data, whole, protection) != 0) {
    return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  }
  data_ = data;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Allocation::allocate(const Description& description, std::size_t size, std::size_t alignment,
                                 std::shared_ptr<Allocation>* allocation) {
  const std::uint64_t total = machine_memory_bytes();
  const std::uint64_t used = process_memory().used();
  if (size > total || used > total - size) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  std::shared_ptr<Allocation> made(new Allocation(description, Source::kOwn));
  const std::size_t whole = round_up(size, kPageSize);
  if (description.exported) {
    if (const ze_result_t result = make_memory_file(whole, &made->fd_)) return result;
  }
  if (const ze_result_t result = made->map(whole, alignment, made->fd_.get(), PROT_READ | PROT_WRITE)) return result;
  made->size_ = size;
  made->id_ = next_id();
  made->accounted_ = size;  // As asked for: clients compare it with what they allocated.
  process_memory().add(size);
  for (const auto& account : description.accounts)
    if (account) account->add(size);
  *allocation = std::move(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Allocation::import_fd(const Description& description, int fd, std::size_t size,
                                  std::shared_ptr<Allocation>* allocation) {
  std::uint64_t bytes = 0;
  bool writable = false;
  if (!examine_fd(fd, &bytes, &writable)) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  if (size > bytes) return ZE_RESULT_ERROR_INVALID_SIZE;
  std::shared_ptr<Allocation> made(new Allocation(description, Source::kImportedFd));
  made->writable_ = writable;
  if (const ze_result_t result = made->map(size, 0, fd, writable ? PROT_READ | PROT_WRITE : PROT_READ)) return result;
  if (npu::is_dma_buf(fd)) {
    made->dma_buf_.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!made->dma_buf_) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  } else if (may_shrink(fd)) {
    // Reopened for a file position of its own: lseek takes a third of the time of fstat.
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    made->watched_fd_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    made->may_seek_ = static_cast<bool>(made->watched_fd_);
    if (!made->may_seek_) made->watched_fd_.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!made->watched_fd_) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  made->size_ = size;
  made->id_ = next_id();
  *allocation = std::move(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Allocation::import_user_memory(const Description& description, void* data, std::size_t size,
                                           std::shared_ptr<Allocation>* allocation) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  bool writable = false;
  if (begin + size < begin || !examine_range(begin, begin + size, &writable)) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  std::shared_ptr<Allocation> made(new Allocation(description, Source::kUserMemory));
  made->writable_ = writable && !description.read_only;
  made->data_ = static_cast<std::byte*>(data);
  made->size_ = size;
  made->id_ = next_id();
  *allocation = std::move(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Allocation::map_range(const Description& description, std::shared_ptr<Reservation> reservation,
                                  void* address, std::size_t size, int fd, std::size_t offset,
                                  ze_memory_access_attribute_t access, std::shared_ptr<Allocation>* allocation) {
  std::shared_ptr<Allocation> made(new Allocation(description, Source::kMapping));
  if (::mmap(address, size, protection_of(access), MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(offset)) ==
      MAP_FAILED)
    return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  made->access_.store(access);
  made->data_ = static_cast<std::byte*>(address);
  made->size_ = size;
  made->reservation_ = std::move(reservation);
  made->id_ = next_id();
  *allocation = std::move(made);
  return ZE_RESULT_SUCCESS;
}

void Allocation::unmap() noexcept {
  if (!reservation_) return;
  ::mmap(data_, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  access_.store(ZE_MEMORY_ACCESS_ATTRIBUTE_NONE);
  reservation_.reset();
}

bool Allocation::set_access(ze_memory_access_attribute_t access) noexcept {
  if (::mprotect(data_, size_, protection_of(access)) != 0) return false;
  access_.store(access);
  return true;
}

bool Allocation::is_shareable() const noexcept {
  const std::lock_guard lock(sharing);
  return borrow_fd() >= 0;
}

ze_result_t Allocation::make_shareable() {
  const std::lock_guard lock(sharing);
  if (borrow_fd() >= 0) return ZE_RESULT_SUCCESS;
  if (source_ != Source::kOwn)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                "other processes can open memory that was allocated here, or imported "
                "as a descriptor that its owner may shrink");
  const std::size_t whole = round_up(size_, kPageSize);
  UniqueFd file;
  if (const ze_result_t result = make_memory_file(whole, &file)) return result;
  for (std::size_t at = 0; at < whole;) {
    const ssize_t written = ::pwrite(file.get(), data_ + at, whole - at, static_cast<off_t>(at));
    if (written <= 0) return fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, std::strerror(errno));
    at += static_cast<std::size_t>(written);
  }
  if (::mmap(data_, whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.get(), 0) == MAP_FAILED)
    return fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, std::strerror(errno));
  fd_ = std::move(file);
  return ZE_RESULT_SUCCESS;
}

bool Allocation::is_intact() const noexcept {
  if (is_mapping()) return access() != ZE_MEMORY_ACCESS_ATTRIBUTE_NONE;
  if (!watched_fd_) return true;
  if (may_seek_) return ::lseek(watched_fd_.get(), 0, SEEK_END) >= static_cast<off_t>(size_);
  struct stat status {};
  return ::fstat(watched_fd_.get(), &status) == 0 &&
         static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0)) >= size_;
}

ze_result_t check_intact(const Allocation& memory) {
  if (memory.is_intact()) return ZE_RESULT_SUCCESS;
  if (memory.is_mapping())
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the range was made inaccessible, or unmapped");
  return fail(ZE_RESULT_ERROR_INVALID_SIZE, "the file behind imported memory was shrunk below the " +
                                                std::to_string(memory.size()) + " bytes that were imported");
}

int Allocation::export_fd(ze_external_memory_type_flags_t type) const noexcept {
  if (!fd_ || (type & description_.exported) == 0) {
    errno = EINVAL;
    return -1;
  }
  // Without udmabuf, dma-bufs are only offered as stand-ins (is_as_hardware()): a memfd can be mapped and imported like one.
  if (type & ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF && can_export_dma_buf())
    return dma_buf_of(fd_, round_up(size_, kPageSize));
  return ::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0);
}

bool MemoryTable::insert(const Context* context, std::shared_ptr<Allocation> allocation) {
  const auto begin = reinterpret_cast<std::uintptr_t>(allocation->data());
  std::lock_guard lock(mutex_);
  for (const auto& [owner, entries] : contexts_) {
    const std::shared_ptr<Allocation>* there = overlapped(entries, begin, allocation->size());
    if (!there) continue;
    const bool both_are_users = allocation->source() == Allocation::Source::kUserMemory &&
                                (*there)->source() == Allocation::Source::kUserMemory;
    if (owner == context || !both_are_users) return false;
  }
  contexts_[context].emplace(begin, std::move(allocation));
  return true;
}

bool MemoryTable::overlaps(const Context* context, const void* address, std::size_t size) const {
  std::shared_lock lock(mutex_);
  const auto owner = contexts_.find(context);
  return owner != contexts_.end() && overlapped(owner->second, reinterpret_cast<std::uintptr_t>(address), size);
}

std::shared_ptr<Allocation> MemoryTable::find_range(const Context* context, const void* address,
                                                    std::size_t size) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  std::shared_lock lock(mutex_);
  for (auto owner = context ? contexts_.find(context) : contexts_.begin(); owner != contexts_.end(); ++owner) {
    if (const std::shared_ptr<Allocation>* there = overlapped(owner->second, at, 1)) {
      const std::size_t offset = at - reinterpret_cast<std::uintptr_t>((*there)->data());
      if (size <= (*there)->size() - offset) return *there;
    }
    if (context) break;
  }
  return nullptr;
}

std::shared_ptr<Allocation> MemoryTable::remove(const Context* context, const void* address) {
  std::shared_ptr<Allocation> removed;  // Released after the lock.
  std::lock_guard lock(mutex_);
  const auto owner = contexts_.find(context);
  if (owner == contexts_.end()) return nullptr;
  const auto entry = owner->second.find(reinterpret_cast<std::uintptr_t>(address));
  if (entry == owner->second.end()) return nullptr;
  removed = std::move(entry->second);
  owner->second.erase(entry);
  return removed;
}

void MemoryTable::remove_all(const Context* context) {
  Entries removed;
  std::lock_guard lock(mutex_);
  const auto owner = contexts_.find(context);
  if (owner == contexts_.end()) return;
  removed = std::move(owner->second);
  contexts_.erase(owner);
}

MemoryTable& memory_table() noexcept {
  static const handles::Immortal<MemoryTable> table;
  return *table;
}

std::shared_ptr<Allocation> memory_at(const Context& context, const void* address, std::size_t size) {
  std::shared_ptr<Allocation> memory = memory_table().find_range(&context, address, size);
  if (memory || !sees_system_memory()) return memory;
  try {
    (void)Allocation::import_user_memory({}, const_cast<void*>(address), size, &memory);
  } catch (const std::bad_alloc&) {  // Some of the calls that ask cannot report it.
  }
  return memory;
}

}  // namespace tenon::npu
