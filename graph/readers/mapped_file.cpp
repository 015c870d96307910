// SPDX-License-Identifier: Apache-2.0
// Mapping of model and weight files.
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tenon/core/host.hpp>
#include <tenon/graph/readers/mapped_file_internal.hpp>

namespace tenon {
inline namespace v1 {
namespace readers {

namespace {
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Code code_of(int error) {
  if (error == ENOENT || error == ENOTDIR) return Code::kNotFound;
  if (error == EACCES || error == EPERM) return Code::kPermissionDenied;
  if (error == ENOMEM || error == EMFILE || error == ENFILE) return Code::kResourceExhausted;
  return Code::kUnknown;
}
}  // namespace

Tensor map_file(const std::filesystem::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) {
    const int error = errno;
    throw Error(code_of(error), "cannot open \"" + path.string() + "\": " + std::strerror(error), "open", error);
  }
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) {
    throw Error(Code::kUnknown, "cannot read the size of \"" + path.string() + "\"", "fstat", errno);
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(Code::kInvalidArgument, "\"" + path.string() + "\" is not a regular file; a model file is expected");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return Tensor(ElementType::kU8, Shape{0});
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (address == MAP_FAILED) {
    const int error = errno;
    throw Error(code_of(error), "cannot map \"" + path.string() + "\": " + std::strerror(error), "mmap", error);
  }
  auto memory = HostMemory::borrow(address, size, true, [address, size] { ::munmap(address, size); });
  return Tensor(TensorInfo{ElementType::kU8, Shape{size}, {}}, memory);
}

Tensor tensor_at(const Tensor& bytes, std::uint64_t offset, std::uint64_t size, ElementType type, const Shape& shape,
                 const std::string& what) {
  const std::uint64_t available = bytes ? bytes.size_bytes() : 0;
  if (offset > available || size > available - offset) {
    throw Error(Code::kDataLoss, what + " lies at bytes " + std::to_string(offset) + " to " + std::to_string(offset) +
                                     "+" + std::to_string(size) + " of the weights, which have only " +
                                     std::to_string(available) +
                                     " bytes: the weights file is truncated or belongs to another model");
  }
  const auto needed = checked_size_bytes(type, shape);
  if (!needed || *needed != size) {
    throw Error(Code::kInvalidArgument, what + " is " + std::string(name(type)) + " " + to_string(shape) +
                                            ", which needs " +
                                            (needed ? std::to_string(*needed) : std::string("more than 2^63")) +
                                            " bytes, but its size says " + std::to_string(size));
  }
  if (size == 0) return Tensor(type, shape);
  auto* start = static_cast<std::uint8_t*>(bytes.data()) + offset;
  const std::size_t alignment = std::max<std::size_t>(1, tenon::v1::size_bytes(type));
  if (reinterpret_cast<std::uintptr_t>(start) % alignment == 0) {
    return Tensor(TensorInfo{type, shape, {}}, bytes.memory(), bytes.offset() + offset, bytes.lease());
  }
  Tensor copy(type, shape);
  std::memcpy(copy.data(), start, size);
  return copy;
}

}  // namespace readers
}  // namespace v1
}  // namespace tenon
