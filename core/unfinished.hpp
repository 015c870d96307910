// SPDX-License-Identifier: Apache-2.0
// Files that must not be left half-written when a signal ends the process.
#pragma once

#include <filesystem>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {
struct UnfinishedFile;
}

/// While it lives, remove_unfinished() removes the file at its path. @thread created and destroyed in any thread.
class TENON_API Unfinished {
 public:
  Unfinished() = default;
  explicit Unfinished(const std::filesystem::path& path);
  Unfinished(Unfinished&& other) noexcept;
  Unfinished& operator=(Unfinished&& other) noexcept;
  ~Unfinished() { forget(); }
  /// Call when the file has its name, or is gone.
  void forget() noexcept;

 private:
  detail::UnfinishedFile* file_ = nullptr;
};

/// Removes the files of all Unfinished. Programs call it in the handlers of signals that end them: it uses atomics and unlink only.
TENON_API void remove_unfinished() noexcept;

}  // namespace v1
}  // namespace tenon
