// SPDX-License-Identifier: Apache-2.0
// A folder of cache entries: files named by hash, written atomically, bounded in bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <tenon/core/fd.hpp>
#include <tenon/core/file.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/store/content_hash.hpp>

namespace tenon::inline v1::store {

/// The name of an entry is 32 hexadecimal digits and the folder's suffix. An entry contains its key too, since files
/// can be renamed. Other files are ignored. The least recently used entries are evicted first, by access time; it is
/// set explicitly, because file systems update it coarsely or not at all. All operations use the descriptor of the
/// checked folder, so that it cannot be exchanged between check and use.
/// @thread all members from any thread; several processes share one folder.
class CacheFolder {
 public:
  struct Rules {
    std::string_view suffix;     ///< ".blob"; static.
    unsigned entry_mode = 0600;  ///< Before the umask is applied.
    /// Folder and entries must belong to this user and must not be writable by others; symbolic links are not followed.
    bool is_private = false;
  };
  enum class Missing { kLeave, kMake };

  /// Opens the folder. If it cannot be opened or trusted, the object converts to false; error() or distrust() has the
  /// reason.
  /// @param path  Empty: no folder.
  /// @param missing  kMake: creates the folder, accessible to this user only.
  CacheFolder(const std::filesystem::path& path, const Rules& rules, Missing missing = Missing::kLeave);
  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
  /// The system's error; none if the folder was opened.
  const std::error_code& error() const noexcept { return error_; }
  /// The reason why a private folder is not trusted: "it belongs to user 7, this process is user 5". Empty: it is
  /// trusted.
  const std::string& distrust() const noexcept { return distrust_; }

  static std::string name_of(const ContentHash& key, const Rules& rules);
  /// Whether the name is that of an entry; the file is not read.
  static bool is_entry(const std::filesystem::path& file, const Rules& rules);
  /// True for temporary files of make(), abandoned ones included: an entry's name, a number, and ".part".
  static bool is_temporary(const std::filesystem::path& file, const Rules& rules);

  struct Entry {
    std::string name;
    std::uint64_t size_bytes = 0;
    std::int64_t used_ns = 0, modified_ns = 0;  ///< Times since 1970.
  };
  /// All entries, in no order.
  std::vector<Entry> entries() const;
  std::uint64_t used_bytes() const;

  /// The whole file, mapped read-only, u8; marks it as used. Empty if the file cannot be opened, has no bytes, or is
  /// not trusted. Never blocks, whatever the type of the file.
  Tensor map(const std::string& name) const;
  /// Marks the entry as used.
  void touch(const std::string& name) const noexcept;
  /// A new entry, which appears with commit(). There is no fsync: an entry that a crash of the machine damaged does not
  /// match its hash, which is a miss. @errors those of NewFile.
  std::unique_ptr<NewFile> make(const std::string& name) const;
  /// Removes an entry. Existing mappings stay valid: the bytes are freed with the last one. @return whether it existed.
  bool remove(const std::string& name) const noexcept;
  /// Removes temporary files of processes that died while they wrote.
  void remove_abandoned() const;
  /// Removes the least recently used entries until the rest has at most `limit_bytes`.
  /// @param keep  Not removed: the newest entry, whose time may equal that of others, because file system clocks are
  /// coarse.
  void evict(std::uint64_t limit_bytes, const std::string& keep) const;

 private:
  bool is_trusted(int fd) const;
  std::filesystem::path path_;
  Rules rules_;
  UniqueFd fd_;
  std::error_code error_;
  std::string distrust_;
};

}  // namespace tenon::inline v1::store
