// SPDX-License-Identifier: Apache-2.0
// Files as tensors: mapped, so that weights are neither read nor duplicated, or read into memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {

/// Maps a file as a read-only u8 tensor [size]; pages are read when touched. An empty file gives [0].
/// The mapping lives as long as any tensor over it.
/// @errors kNotFound, kPermissionDenied, kResourceExhausted, kInvalidArgument; all name the path. Anything but a
///         regular file (a FIFO, a socket, a device, a folder) is kInvalidArgument and never blocks.
/// @thread any. When another process truncates a mapped file, access raises SIGBUS: write model files
///         atomically.
TENON_API Tensor map_file(const std::filesystem::path& path);

/// Gives back those pages of a map_file() that lie wholly in this tensor: they are no memory of this process any more, and are read from the
/// file again where something touches them. Memory that is no mapped file is left as it is.
/// @param tensor  On the host, contiguous.
/// @thread any, also while other threads read the tensor. @cost a lock, a call of madvise(); a page fault where a page is touched again.
TENON_API void drop_pages(const Tensor& tensor) noexcept;

/// As map_file(), but copied into memory: the file may be changed or removed afterwards.
/// @errors those of map_file(); kDataLoss: the file was shortened while it was read.
TENON_API Tensor read_file(const std::filesystem::path& path);

class RegularFile;

/// Records, during its lifetime, the files that map_file and read_file open in this thread: all files of which a model
/// consists.
/// @thread created, queried and destroyed in one thread; may be nested.
class TENON_API MappedFiles {
 public:
  MappedFiles();
  ~MappedFiles();
  MappedFiles(const MappedFiles&) = delete;
  MappedFiles& operator=(const MappedFiles&) = delete;
  /// A file at the time it was mapped; times since 1970, in ns.
  struct File {
    std::filesystem::path path;
    std::uint64_t size_bytes = 0;
    std::int64_t modified_ns = 0, changed_ns = 0;
  };
  const std::vector<File>& all() const { return files_; }

 private:
  friend TENON_API Tensor map_file(const std::filesystem::path& path);
  friend TENON_API Tensor read_file(const std::filesystem::path& path);
  static void note(const std::filesystem::path& path, const RegularFile& file);
  MappedFiles* outer_;
  std::vector<File> files_;
};

}  // namespace v1
}  // namespace tenon
