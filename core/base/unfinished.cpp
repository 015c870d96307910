// SPDX-License-Identifier: Apache-2.0
// A list of paths that a signal handler may read at any moment: its entries are used again, and never freed.
#include <tenon/core/unfinished.hpp>

#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/platform/files.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

struct UnfinishedFile {
  enum State : int { kFree, kTaken, kNamed };
  std::atomic<int> state{kTaken};
  char path[platform::kMaxPath] = {};
  UnfinishedFile* next = nullptr;
};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<UnfinishedFile*>::is_always_lock_free);

TENON_INLINE std::atomic<UnfinishedFile*>& unfinished_files() noexcept {
  static constinit std::atomic<UnfinishedFile*> first{nullptr};
  return first;
}

/// A free entry, or a new one.
TENON_INLINE UnfinishedFile* take_unfinished() {
  std::atomic<UnfinishedFile*>& first = unfinished_files();
  for (UnfinishedFile* each = first.load(); each; each = each->next) {
    int free = UnfinishedFile::kFree;
    if (each->state.compare_exchange_strong(free, UnfinishedFile::kTaken)) return each;
  }
  auto* made = new UnfinishedFile;
  made->next = first.load();
  while (!first.compare_exchange_weak(made->next, made)) {
  }
  return made;
}

}  // namespace detail

TENON_INLINE Unfinished::Unfinished(const std::filesystem::path& path) {
  // Absolute, since a program may change its folder.
  const std::string text = std::filesystem::absolute(path).string();
  if (text.size() >= sizeof detail::UnfinishedFile::path)
    throw Error(Code::kInvalidArgument, "\"" + text + "\": too long a path");
  file_ = detail::take_unfinished();
  std::memcpy(file_->path, text.c_str(), text.size() + 1);
  file_->state.store(detail::UnfinishedFile::kNamed);
}

TENON_INLINE Unfinished::Unfinished(Unfinished&& other) noexcept : file_(std::exchange(other.file_, nullptr)) {}

TENON_INLINE Unfinished& Unfinished::operator=(Unfinished&& other) noexcept {
  if (this == &other) return *this;
  forget();
  file_ = std::exchange(other.file_, nullptr);
  return *this;
}

TENON_INLINE void Unfinished::forget() noexcept {
  if (file_) file_->state.store(detail::UnfinishedFile::kFree);
  file_ = nullptr;
}

TENON_INLINE void remove_unfinished() noexcept {
  for (const detail::UnfinishedFile* each = detail::unfinished_files().load(); each; each = each->next)
    if (each->state.load() == detail::UnfinishedFile::kNamed) platform::remove_by_signal(each->path);
}

}  // namespace v1
}  // namespace tenon
