// SPDX-License-Identifier: Apache-2.0
// Compares files by device and inode.
#include <tenon/core/used_files.hpp>

#include <algorithm>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/platform/files.hpp>

namespace tenon {
inline namespace v1 {

TENON_INLINE void UsedFiles::add_input(const std::string& path, const std::string& what) {
  platform::FileStatus status;
  if (path.empty()) return;
  if (platform::status_of(path, status)) {
    // FFmpeg's spelling of a local file.
    if (path.starts_with("file:")) add_input(path.substr(5), what);
    return;
  }
  add({status.device, status.inode, "", what + " \"" + path + "\"", false, false});
}

TENON_INLINE void UsedFiles::add_output(const std::filesystem::path& path, const std::string& what,
                                        bool may_be_shared) {
  const std::string text = what + " \"" + path.string() + "\"";
  platform::FileStatus status;
  if (!platform::status_of(path, status)) {
    if (status.type == platform::FileType::kRegular) add({status.device, status.inode, "", text, true, may_be_shared});
    return;
  }
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (!platform::status_of(folder, status))
    add({status.device, status.inode, path.filename().string(), text, true, may_be_shared});
}

TENON_INLINE bool UsedFiles::is_input(const std::filesystem::path& path) const {
  platform::FileStatus status;
  if (platform::status_of(path, status)) return false;
  const File wanted{status.device, status.inode, "", "", true, false};
  const std::lock_guard lock(mutex_);
  return std::any_of(files_.begin(), files_.end(),
                     [&](const File& known) { return !known.is_output && known.same_as(wanted); });
}

TENON_INLINE void UsedFiles::add(File file) {
  const std::lock_guard lock(mutex_);
  for (const File& known : files_) {
    if (!known.same_as(file)) continue;
    const bool both = known.is_output && file.is_output;
    // It is known: sources that come and go read the same files again.
    if (!known.is_output && !file.is_output) return;
    if (both && known.may_be_shared && file.may_be_shared) return;
    const File &output = file.is_output ? file : known, &other = file.is_output ? known : file;
    throw Error(Code::kInvalidArgument, output.text + (both ? " and " : " would replace ") + other.text +
                                            (both ? " are one file" : ", which is read: they are one file") +
                                            "; give another name");
  }
  files_.push_back(std::move(file));
}

}  // namespace v1
}  // namespace tenon
