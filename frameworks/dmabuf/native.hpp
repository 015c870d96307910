// SPDX-License-Identifier: Apache-2.0
// The kernel interface of frameworks/dmabuf: the ABI, and the calls, which tests can make fail.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {
namespace dmabuf::native {

/// @name Kernel ABI
/// Declared here because older kernel headers lack parts of it, and users of this header need none installed.
/// dmabuf_test.cpp compares each declaration with the system's header where there is one.
/// @source linux/dma-buf.h, dma-heap.h, udmabuf.h, sync_file.h
struct Sync {
  std::uint64_t flags;
};
struct ExportSyncFile {
  std::uint32_t flags;
  std::int32_t fd;
};
struct ImportSyncFile {
  std::uint32_t flags;
  std::int32_t fd;
};
struct HeapAllocation {
  std::uint64_t len;
  std::uint32_t fd;
  std::uint32_t fd_flags;
  std::uint64_t heap_flags;
};
struct UdmabufCreate {
  std::uint32_t memfd;
  std::uint32_t flags;
  std::uint64_t offset;
  std::uint64_t size;
};
struct FenceInfo {
  char object[32];
  char driver[32];
  std::int32_t status;
  std::uint32_t flags;
  std::uint64_t timestamp_ns;
};
struct SyncFileInfo {
  char name[32];
  std::int32_t status;  ///< 1 signalled, 0 active, below 0 the error.
  std::uint32_t flags;
  std::uint32_t fence_count;
  std::uint32_t pad;
  std::uint64_t fences;  ///< Address of FenceInfo[fence_count].
};
static_assert(sizeof(Sync) == 8 && sizeof(ExportSyncFile) == 8 && sizeof(ImportSyncFile) == 8);
static_assert(sizeof(HeapAllocation) == 24 && sizeof(UdmabufCreate) == 24);
struct SyncMerge {
  char name[32];
  std::int32_t fd2;    ///< The other one.
  std::int32_t fence;  ///< Returned: a new descriptor.
  std::uint32_t flags;
  std::uint32_t pad;
};
static_assert(sizeof(SyncMerge) == 48 && sizeof(FenceInfo) == 80 && sizeof(SyncFileInfo) == 56);

inline constexpr std::uint64_t kSyncRead = 1, kSyncWrite = 2, kSyncStart = 0, kSyncEnd = 4;
inline constexpr std::uint32_t kUdmabufCloexec = 1;
inline constexpr unsigned long kIoctlSync = _IOW('b', 0, Sync);
inline constexpr unsigned long kIoctlExportSyncFile = _IOWR('b', 2, ExportSyncFile);
inline constexpr unsigned long kIoctlImportSyncFile = _IOW('b', 3, ImportSyncFile);
inline constexpr unsigned long kIoctlHeapAllocate = _IOWR('H', 0, HeapAllocation);
inline constexpr unsigned long kIoctlUdmabufCreate = _IOW('u', 0x42, UdmabufCreate);
inline constexpr unsigned long kIoctlSyncMerge = _IOWR('>', 3, SyncMerge);
inline constexpr unsigned long kIoctlSyncFileInfo = _IOWR('>', 4, SyncFileInfo);
static_assert(kIoctlSync == 0x40086200 && kIoctlExportSyncFile == 0xc0086202 && kIoctlImportSyncFile == 0x40086203);
static_assert(kIoctlHeapAllocate == 0xc0184800 && kIoctlUdmabufCreate == 0x40187542);
static_assert(kIoctlSyncFileInfo == 0xc0383e04 && kIoctlSyncMerge == 0xc0303e03);

/// @name Calls
/// The system calls, under their names. For tests: `fault`, when set, is called before each with the name that errors
/// carry; the errno it returns replaces the call, 0 lets it proceed.
using Fault = int (*)(const char* call);
TENON_API inline std::atomic<Fault> fault{nullptr};

int open(const char* path, int flags);
int ioctl(int fd, unsigned long request, void* argument, const char* call);
int fstat(int fd, struct stat* status);
off_t seek_end(int fd);
int memfd_create(const char* name);
int ftruncate(int fd, std::size_t size);
int add_seals(int fd, int seals);
void* mmap(std::size_t size, int protection, int fd);
int poll(struct pollfd* entries, nfds_t count, int timeout_ms);

[[noreturn]] void fail(Code code, const std::string& what, const char* call, int error);

/// Repeats an ioctl that was interrupted by a signal or asks to be repeated, until `deadline`.
/// @return 0, or -1 with errno. @errors kDeadlineExceeded
int ioctl_until(Deadline deadline, int fd, unsigned long request, void* argument, const char* call);

/// As cpu::poll_until.
bool poll_until(Deadline deadline, int fd, short events);

}  // namespace dmabuf::native
}  // namespace v1
}  // namespace tenon
