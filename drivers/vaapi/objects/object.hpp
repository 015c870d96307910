// SPDX-License-Identifier: Apache-2.0
// Objects behind VA's 32-bit ids. An id is checked by its slot: it must be valid, of this display and of this kind. The
// object lives as long as its id or a Ref to it.
#pragma once

#include <cstdint>
#include <new>
#include <utility>

#include <va/va.h>

#include <tenon/drivers/handles/objects.hpp>

namespace tenon::va {

class Display;

enum class Kind : std::uint8_t { kConfig = 1, kSurface, kContext, kBuffer, kImage };

struct Slot {
  handles::SlotState state;
  handles::Object<Slot>* object = nullptr;
  Slot* next = nullptr;
  static handles::ObjectTable<Slot>& table() noexcept;
};

/// @thread all members from any thread.
class Object : public handles::Object<Slot> {
 public:
  VAGenericID id() const noexcept;
  const Display* display() const noexcept { return display_; }

 protected:
  explicit Object(const Display& display) : display_(&display) {}

 private:
  const Display* display_;
};

using handles::Ref;

/// The object of this display behind an id, with one more reference; null for any other id.
Object* acquire_object(const Display& display, VAGenericID id, Kind kind) noexcept;
/// Makes the id invalid; the object lives until its last reference is gone. False if it was not valid.
bool destroy_id(const Display& display, VAGenericID id, Kind kind) noexcept;
/// Makes every id of a display invalid.
void destroy_ids_of(const Display& display) noexcept;

/// T has `static constexpr Kind kKind`.
template <class T>
Ref<T> acquire(const Display& display, VAGenericID id) noexcept {
  return Ref<T>::adopt(static_cast<T*>(acquire_object(display, id, T::kKind)));
}

/// Creates an object, whose id holds a reference too. @errors std::bad_alloc: no memory, or no id left; errors of T's
/// constructor.
template <class T, class... Arguments>
Ref<T> make_object(Arguments&&... arguments) {
  T* object = handles::make<T>(Slot::table(), 2, std::forward<Arguments>(arguments)...);
  if (!object) throw std::bad_alloc();
  return Ref<T>::adopt(object);
}

}  // namespace tenon::va
