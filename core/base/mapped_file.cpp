// SPDX-License-Identifier: Apache-2.0
// Mappings behind map_file, and reading where no mapping is possible.
#include <tenon/core/mapped_file.hpp>

#include <map>
#include <memory>
#include <mutex>

#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/page_bytes.hpp>
#include <tenon/core/platform/mappings.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

TENON_INLINE MappedFiles*& innermost_mapped_files() {
  static thread_local MappedFiles* innermost = nullptr;
  return innermost;
}

/// The mappings of this process, by address.
struct Mappings {
  std::mutex mutex;
  std::map<std::uintptr_t, std::size_t> sizes;
};
TENON_INLINE Mappings& mappings() {
  static auto& all = *new Mappings;  // Static objects may hold mapped files.
  return all;
}

class Mapping {
 public:
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (!data_) return;
    {
      const std::lock_guard lock(mappings().mutex);
      mappings().sizes.erase(reinterpret_cast<std::uintptr_t>(data_));
    }
    platform::unmap(data_, size_);
  }
  /// Takes the mapping over, also if this throws.
  void hold(char* data, std::size_t size) {
    data_ = data, size_ = size;
    const std::lock_guard lock(mappings().mutex);
    mappings().sizes[reinterpret_cast<std::uintptr_t>(data)] = size;
  }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace detail

TENON_INLINE MappedFiles::MappedFiles() : outer_(detail::innermost_mapped_files()) {
  detail::innermost_mapped_files() = this;
}
TENON_INLINE MappedFiles::~MappedFiles() { detail::innermost_mapped_files() = outer_; }

TENON_INLINE void MappedFiles::note(const std::filesystem::path& path, const RegularFile& file) {
  for (MappedFiles* files = detail::innermost_mapped_files(); files; files = files->outer_)
    files->files_.push_back({path, file.size_bytes(), file.modified_ns(), file.changed_ns()});
}

TENON_INLINE Tensor map_file(const std::filesystem::path& path) {
  const RegularFile file(path);
  MappedFiles::note(path, file);
  const auto size = static_cast<std::size_t>(file.size_bytes());
  const auto mapping = std::make_shared<detail::Mapping>();
  // The mapping keeps the file open by itself.
  void* data = nullptr;
  const auto failure = size == 0 ? platform::Failure() : platform::map_file(file.fd(), size, data);
  if (failure) {
    const bool is_full = platform::code_of(failure.error) == Code::kResourceExhausted;
    throw Error(is_full ? Code::kResourceExhausted : Code::kUnavailable,
                "cannot map the " + std::to_string(size) + " bytes of \"" + path.string() +
                    "\": " + platform::message_of(failure.error),
                failure.call, failure.error);
  }
  if (data) mapping->hold(static_cast<char*>(data), size);
  return Tensor({ElementType::kU8, {size}, {}}, HostMemory::borrow(data, size, true, [mapping] {}));
}

TENON_INLINE void drop_pages(const Tensor& tensor) noexcept {
  if (!tensor || tensor.element_count() == 0) return;
  const auto page = static_cast<std::uintptr_t>(page_bytes());
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data());
  const std::uintptr_t begin = (address + page - 1) / page * page, end = (address + tensor.size_bytes()) / page * page;
  if (begin >= end) return;
  auto& mappings = detail::mappings();
  const std::lock_guard lock(mappings.mutex);
  auto found = mappings.sizes.upper_bound(begin);
  if (found == mappings.sizes.begin()) return;
  --found;
  if (end <= found->first + found->second) platform::drop_pages(reinterpret_cast<void*>(begin), end - begin);
}

TENON_INLINE Tensor read_file(const std::filesystem::path& path) {
  const RegularFile file(path);
  MappedFiles::note(path, file);
  const auto size = static_cast<std::size_t>(file.size_bytes());
  Tensor bytes(ElementType::kU8, Shape{size});
  std::size_t done = 0;
  while (done < size) {
    std::size_t count = 0;
    if (const auto failure =
            platform::read_at(file.fd(), static_cast<char*>(bytes.data()) + done, size - done, done, count))
      throw Error(Code::kUnavailable, "cannot read \"" + path.string() + "\": " + platform::message_of(failure.error),
                  failure.call, failure.error);
    if (count == 0)
      throw Error(Code::kDataLoss, "\"" + path.string() + "\" had " + std::to_string(size) + " bytes and ends after " +
                                       std::to_string(done) + ": another process shortened it while it was read");
    done += count;
  }
  return bytes;
}

}  // namespace v1
}  // namespace tenon
