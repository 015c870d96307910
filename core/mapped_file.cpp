// SPDX-License-Identifier: Apache-2.0
// mmap behind map_file.
#include <tenon/core/mapped_file.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <tenon/core/host.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

struct OpenFile {
  int fd;
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
};

TENON_INLINE MappedFiles*& innermost_mapped_files() {
  static thread_local MappedFiles* innermost = nullptr;
  return innermost;
}

[[noreturn]] TENON_INLINE void fail_file(const std::filesystem::path& path, const char* call, int error) {
  Code code = Code::kUnavailable;
  if (error == ENOENT || error == ENOTDIR) code = Code::kNotFound;
  if (error == EACCES || error == EPERM) code = Code::kPermissionDenied;
  if (error == ENOMEM || error == EMFILE || error == ENFILE) code = Code::kResourceExhausted;
  throw Error(code, "cannot open \"" + path.string() + "\": " + std::strerror(error), call, error);
}

}  // namespace detail

TENON_INLINE MappedFiles::MappedFiles() : outer_(detail::innermost_mapped_files()) {
  detail::innermost_mapped_files() = this;
}
TENON_INLINE MappedFiles::~MappedFiles() { detail::innermost_mapped_files() = outer_; }

TENON_INLINE Tensor map_file(const std::filesystem::path& path) {
  const detail::OpenFile file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) detail::fail_file(path, "open", errno);
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) detail::fail_file(path, "fstat", errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(Code::kInvalidArgument, "cannot map \"" + path.string() + "\": it is not a regular file");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  const auto ns = [](const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
  for (MappedFiles* files = detail::innermost_mapped_files(); files; files = files->outer_)
    files->files_.push_back({path, size, ns(status.st_mtim), ns(status.st_ctim)});
  // The mapping keeps the file open by itself.
  void* data = size == 0 ? nullptr : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) detail::fail_file(path, "mmap", errno);
  HostMemory::Release unmap;
  if (data) unmap = [data, size] { ::munmap(data, size); };
  return Tensor({ElementType::kU8, {size}, {}}, HostMemory::borrow(data, size, true, std::move(unmap)));
}

}  // namespace v1
}  // namespace tenon
