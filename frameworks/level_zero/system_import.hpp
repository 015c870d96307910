// SPDX-License-Identifier: Apache-2.0
// Pages of the system as memory of ze_contexts: each is imported once for all its users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/level_zero/context.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

/// What is imported in this process, also by modules with hidden symbols. Plain data: no code of a module is kept here.
struct SystemImports {
  using Key = std::pair<ze_context_handle_t, std::uintptr_t>;  ///< The same pages may be in several ze_contexts.
  struct Entry {
    void* data;  ///< As the driver returned it.
    std::size_t size;
    std::size_t users;
  };
  std::mutex mutex;
  std::map<Key, Entry> entries;

  static SystemImports& process();
};

/// One use of pages that are imported into a ze_context. Level Zero does not let imports overlap, so all users of the
/// same pages share one, which is freed with the last of them.
/// @thread all members from any thread. Imports and their ends take turns: a request for pages that are just being freed
/// waits for that.
class SystemImport final : public RefCounted {
 public:
  /// What a ze_context has already.
  struct Found {
    bool is_there = false;
    Ref<SystemImport> import;  ///< Null: an allocation of the driver, kept elsewhere.
  };
  /// Whether the ze_context has [data, data + size), imported or allocated. @errors those of native calls.
  static Found find(const Ref<Native>& native, const void* data, std::size_t size);
  /// @param size  Whole pages from `data` on. @return null for memory that the driver knows already (a user's
  /// allocation wrapped as host memory), which needs no import.
  /// @errors kInvalidArgument: an import has a part of the pages, not all; those of native calls.
  static Ref<SystemImport> of(const Ref<Native>& native, void* data, std::size_t size);
  ~SystemImport() override;

 private:
  using Entries = std::map<SystemImports::Key, SystemImports::Entry>;
  explicit SystemImport(Ref<Native> native) : native_(std::move(native)) {}
  void use(Entries::value_type& entry);
  static Found find_locked(const Ref<Native>& native, const void* data, std::size_t size);
  static void refuse_overlap(const SystemImports& all, const SystemImports::Key& key, std::size_t size);

  Ref<Native> native_;
  SystemImports::Key key_{};
  bool is_used_ = false;
};

}  // namespace detail
}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
