// SPDX-License-Identifier: Apache-2.0
// Files as tensors: mapped, so that weights are neither read nor duplicated, or read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {

/// The file as a read-only u8 tensor [size]; pages are read when touched. The mapping lives as long as any tensor over
/// it.
/// @errors kNotFound, kPermissionDenied, kResourceExhausted, kInvalidArgument (not a regular file); all name the path.
/// What is no file (a FIFO, a socket, a device, a folder) is refused and never waited for.
/// An empty file gives [0].
/// @thread any. A file that another process truncates while mapped raises SIGBUS on access: write model files
/// atomically.
TENON_API Tensor map_file(const std::filesystem::path& path);

/// As map_file(), in memory of its own: the file may be changed or removed afterwards.
/// @errors also kDataLoss: it was shortened meanwhile.
TENON_API Tensor read_file(const std::filesystem::path& path);

class RegularFile;

/// Remembers which files map_file and read_file saw in this thread while it lives: all files that a model was read
/// from.
/// @thread made, asked and destroyed in one thread; several nest.
class TENON_API MappedFiles {
 public:
  MappedFiles();
  ~MappedFiles();
  MappedFiles(const MappedFiles&) = delete;
  MappedFiles& operator=(const MappedFiles&) = delete;
  /// A file as it was when it was mapped; times since 1970, in ns.
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
