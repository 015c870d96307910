// SPDX-License-Identifier: Apache-2.0
// A folder of cache entries: files named by hash, written whole or not at all, bounded in bytes.
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

/// An entry is called by 32 hexadecimal digits and the folder's suffix, and says within what it is of, since names can
/// be changed. Other files are none of the folder's. What was used longest ago goes first; the access time tells, which
/// is set, because the file system keeps it only coarsely or not at all.
/// All goes by a descriptor of the folder that was looked at, so that nobody exchanges it between the look and the use.
/// @thread all members from any thread; several processes share one folder.
class CacheFolder {
 public:
  struct Rules {
    std::string_view suffix;     ///< ".blob"; static.
    unsigned entry_mode = 0600;  ///< Less the umask.
    /// Folder and entries must be this user's, and nobody else's to write; links lead nowhere.
    bool is_private = false;
  };
  enum class Missing { kLeave, kMake };

  /// Opens it. What cannot be had, or must not be trusted, is false, and says why.
  /// @param path  Empty: there is none.
  /// @param missing  kMake: makes it, for this user alone.
  CacheFolder(const std::filesystem::path& path, const Rules& rules, Missing missing = Missing::kLeave);
  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
  /// What the system said; none where the folder is there.
  const std::error_code& error() const noexcept { return error_; }
  /// Why a private folder is none: "it belongs to user 7, this process is user 5". Empty: it is not that.
  const std::string& distrust() const noexcept { return distrust_; }

  static std::string name_of(const ContentHash& key, const Rules& rules);
  /// By the name alone, of files of any folder.
  static bool is_entry(const std::filesystem::path& file, const Rules& rules);
  /// True for what make() has under way, or had when its process ended: an entry's name, a number, and ".part".
  static bool is_temporary(const std::filesystem::path& file, const Rules& rules);

  struct Entry {
    std::string name;
    std::uint64_t size_bytes = 0;
    std::int64_t used_ns = 0, modified_ns = 0;  ///< Since 1970.
  };
  /// In no order.
  std::vector<Entry> entries() const;
  std::uint64_t used_bytes() const;

  /// The whole file, mapped read-only, u8; marks it as used. Empty: it cannot be had, has no bytes, or is not to be
  /// trusted. Never waits, whatever has the name.
  Tensor map(const std::string& name) const;
  /// Marks it as used.
  void touch(const std::string& name) const noexcept;
  /// A new entry, which is there with commit(). No fsync: what a crash of the machine leaves behind has another hash
  /// than its header, which is a miss. @errors those of NewFile.
  std::unique_ptr<NewFile> make(const std::string& name) const;
  /// Who has it mapped keeps it: the bytes go with the last mapping. @return whether it was there.
  bool remove(const std::string& name) const noexcept;
  /// What processes left that died while they wrote.
  void remove_abandoned() const;
  /// Removes what was used longest ago, until all have at most `limit_bytes`.
  /// @param keep  stays: the newest, whose time may be no later than others', as clocks of file systems tick.
  void evict(std::uint64_t limit_bytes, const std::string& keep) const;

 private:
  bool is_trusted(std::uint64_t user, std::uint64_t mode) const noexcept;
  std::filesystem::path path_;
  Rules rules_;
  UniqueFd fd_;
  std::error_code error_;
  std::string distrust_;
};

}  // namespace tenon::inline v1::store
