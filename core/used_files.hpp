// SPDX-License-Identifier: Apache-2.0
// The files that a program reads and writes, so that it does not write over what it reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// Files are told apart by device and inode, so that a link counts as the file that it leads to. Inputs and outputs are added in
/// any order; of two that clash the second is refused. @thread any
class TENON_API UsedFiles {
 public:
  /// @param what  "the model", for messages. A path that is not a file (a URL, a free name) is not checked here, but by the
  /// code that opens it.
  /// @errors kInvalidArgument: an output would replace it
  void add_input(const std::string& path, const std::string& what);
  /// @param what  "--report", for messages.
  /// @param may_be_shared  Other outputs of which this is true may be the same file: lines are appended to it.
  /// @errors kInvalidArgument: it is an input, or another output
  void add_output(const std::filesystem::path& path, const std::string& what, bool may_be_shared = false);
  /// Whether the file is one of the inputs. For outputs whose names are known only when they are written.
  bool is_input(const std::filesystem::path& path) const;

 private:
  struct File {
    std::uint64_t device = 0, inode = 0;
    std::string name;  ///< For an output that does not exist yet: its name in the folder with this device and inode.
    std::string text;  ///< For messages.
    bool is_output = false, may_be_shared = false;
    bool same_as(const File& other) const {
      return device == other.device && inode == other.inode && name == other.name;
    }
  };
  void add(File file);
  mutable std::mutex mutex_;
  std::vector<File> files_;
};

}  // namespace v1
}  // namespace tenon
