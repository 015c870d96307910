// SPDX-License-Identifier: Apache-2.0
// Objects behind handles. A handle is the address of a slot that is never unmapped, so any value from a client can be
// checked safely. The object lives while its handle or a Ref to it does.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <level_zero/ze_api.h>

namespace tenon::npu {

enum class Kind : std::uint8_t {
  kDriver = 1,
  kDevice,
  kContext,
  kQueue,
  kList,
  kFence,
  kEventPool,
  kEvent,
  kGraph,
  kGraphQuery,
  kBuildLog,
  kProfilingPool,
  kProfilingQuery,
};

/// What a handle points to. Begins with the dispatch tables that newer loaders call through.
struct alignas(64) Slot {
  const void* dispatch[4] = {};  ///< Core, tools, sysman, runtime; see dispatch.hpp.
  class Object* object = nullptr;
  std::atomic<std::uint64_t> state{0};  ///< Bit 63: the handle is valid; bits 48 to 55: Kind; below: references.
};
static_assert(sizeof(Slot) == 64);

/// @thread all members from any thread.
class Object {
 public:
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  void* handle() const noexcept { return slot_; }
  void add_reference() const noexcept { slot_->state.fetch_add(1, std::memory_order_relaxed); }
  void drop_reference() const noexcept;

 protected:
  Object() = default;
  virtual ~Object() = default;

 private:
  friend bool attach_slot(Object* object, Kind kind) noexcept;
  friend void destroy_object(Slot* slot) noexcept;
  Slot* slot_ = nullptr;
};

/// Owns one reference to an object.
template <class T>
class Ref {
 public:
  Ref() = default;
  /// Takes over a reference that is already counted.
  static Ref adopt(T* object) noexcept {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  static Ref share(T* object) noexcept {
    if (object) object->add_reference();
    return adopt(object);
  }
  Ref(const Ref& other) noexcept : object_(other.object_) {
    if (object_) object_->add_reference();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->drop_reference();
  }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  void reset() noexcept { *this = Ref(); }

 private:
  T* object_ = nullptr;
};

/// The object behind a handle of this kind, with one more reference.
/// @return ZE_RESULT_ERROR_INVALID_NULL_HANDLE for null, ZE_RESULT_ERROR_INVALID_ARGUMENT for a handle of another kind,
///         one that was destroyed, or an address that no handle ever had.
ze_result_t acquire_object(const void* handle, Kind kind, Object** object) noexcept;
/// Makes the handle invalid; the object lives until its last reference is gone. A second call fails as above.
ze_result_t destroy_handle(void* handle, Kind kind) noexcept;
/// Number of valid handles, by kind; for leak tests.
std::size_t live_handles() noexcept;

/// From now on, every handle and entry point fails in forked children: the driver's threads do not exist there, and its
/// locks may be held. Called when the driver is created.
void guard_against_fork() noexcept;
/// Checks for a process forked after guard_against_fork(). @return there ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, after
/// fail(); else ZE_RESULT_SUCCESS.
ze_result_t check_not_forked() noexcept;

bool is_forked_process() noexcept;
/// The slot number of a handle, valid or not; -1 if it is no slot's address.
std::int64_t handle_number(const void* handle) noexcept;

/// Requires T to have `static constexpr Kind kKind` and `using Handle`.
template <class T, class Handle>
ze_result_t acquire(Handle handle, Ref<T>* ref) noexcept {
  Object* object = nullptr;
  const ze_result_t result = acquire_object(handle, T::kKind, &object);
  if (result == ZE_RESULT_SUCCESS) *ref = Ref<T>::adopt(static_cast<T*>(object));
  return result;
}

/// Creates an object; its handle holds the only reference. Null if there is no memory or no free slot.
/// T's constructor may throw std::bad_alloc.
template <class T, class... Arguments>
T* make_object(Arguments&&... arguments) noexcept try {
  auto object = std::make_unique<T>(std::forward<Arguments>(arguments)...);
  if (!attach_slot(object.get(), T::kKind)) return nullptr;
  return object.release();
} catch (...) {
  return nullptr;
}

}  // namespace tenon::npu
