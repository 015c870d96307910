// SPDX-License-Identifier: Apache-2.0
// Objects behind handles. A handle is the address of a slot that is never unmapped, so any value from a client can be
// checked safely. The object lives while its handle or a Ref to it does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <level_zero/ze_api.h>

#include <tenon/drivers/handles/objects.hpp>

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
  kEngine,
  kFrequency,
  kMemoryModule,
  kPower,
  kMetricGroup,
  kMetric,
  kMetricStreamer,
  kMetricPool,
  kMetricQuery,
  kPhysicalMemory,
};

/// The slot to which a handle points. Begins with the dispatch tables through which newer loaders call.
struct alignas(64) Slot {
  Slot() noexcept;
  const void* dispatch[4];  ///< Core, tools, sysman, runtime; see dispatch.hpp.
  handles::Object<Slot>* object = nullptr;
  handles::SlotState state;
  Slot* next = nullptr;
  static handles::ObjectTable<Slot>& table() noexcept;
};
static_assert(sizeof(Slot) == 64);

/// @thread all members from any thread.
class Object : public handles::Object<Slot> {
 public:
  void* handle() const noexcept { return slot(); }
};

using handles::Ref;

/// The object behind a handle of this kind, with one more reference.
/// @return ZE_RESULT_ERROR_INVALID_NULL_HANDLE for null, ZE_RESULT_ERROR_INVALID_ARGUMENT for a handle of another kind,
///         one that was destroyed, or an address that no handle ever had.
ze_result_t acquire_object(const void* handle, Kind kind, Object** object) noexcept;
/// Makes the handle invalid; the object lives until its last reference is gone. A second call fails as above.
ze_result_t destroy_handle(void* handle, Kind kind) noexcept;
/// Number of valid handles; for leak tests.
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
  return handles::make<T>(Slot::table(), 1, std::forward<Arguments>(arguments)...);
} catch (...) {
  return nullptr;
}

}  // namespace tenon::npu
