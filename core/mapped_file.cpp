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

[[noreturn]] TENON_INLINE void fail_file(const std::filesystem::path& path, const char* call, int code) {
  const Code kind = code == ENOENT ? Code::kNotFound : code == EACCES ? Code::kPermissionDenied : Code::kUnavailable;
  throw Error(kind, "cannot open '" + path.string() + "': " + std::strerror(code), call, code);
}

}  // namespace detail

TENON_INLINE Tensor map_file(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) detail::fail_file(path, "open", errno);
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    const int code = errno;
    ::close(fd);
    detail::fail_file(path, "fstat", code);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(fd);
    throw Error(Code::kInvalidArgument, "cannot map '" + path.string() + "': it is not a regular file");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = size == 0 ? nullptr : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const int code = errno;
  ::close(fd);  // The mapping keeps the file.
  if (data == MAP_FAILED) detail::fail_file(path, "mmap", code);
  HostMemory::Release unmap;
  if (data) unmap = [data, size] { ::munmap(data, size); };
  return Tensor({ElementType::kU8, {size}, {}}, HostMemory::borrow(data, size, true, std::move(unmap)));
}

}  // namespace v1
}  // namespace tenon
