// SPDX-License-Identifier: Apache-2.0
// Objects behind VA's 32-bit ids. An id is judged by its slot: of this display, of this kind, still valid. The object
// lives while its id or a Ref to it does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include <va/va.h>

#include <tenon/drivers/handles/slots.hpp>

namespace tenon::va {

class Display;

enum class Kind : std::uint8_t { kConfig = 1, kSurface, kContext, kBuffer, kImage };

struct Slot {
  handles::SlotState state;
  class Object* object = nullptr;
};

/// @thread all members from any thread.
class Object {
 public:
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  VAGenericID id() const noexcept;
  const Display* display() const noexcept { return display_; }
  void add_reference() const noexcept { slot_->state.add(); }
  void drop_reference() const noexcept;

 protected:
  explicit Object(const Display& display) : display_(&display) {}
  virtual ~Object() = default;

 private:
  friend bool attach_slot(Object* object, Kind kind);
  friend void destroy_object(Slot* slot) noexcept;
  const Display* display_;
  Slot* slot_ = nullptr;
};

/// Owns one reference to an object.
template <class T>
class Ref {
 public:
  Ref() = default;
  /// One more reference to an object that is held already.
  explicit Ref(T& object) noexcept : object_(&object) { object.add_reference(); }
  /// Takes over a reference that is already counted.
  static Ref adopt(T* object) noexcept {
    Ref ref;
    ref.object_ = object;
    return ref;
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

 private:
  T* object_ = nullptr;
};

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

/// Creates an object, whose id holds a reference too. @errors std::bad_alloc: no memory, or no id left; T's own.
template <class T, class... Arguments>
Ref<T> make_object(Arguments&&... arguments) {
  auto object = std::make_unique<T>(std::forward<Arguments>(arguments)...);
  if (!attach_slot(object.get(), T::kKind)) throw std::bad_alloc();
  object->add_reference();
  return Ref<T>::adopt(object.release());
}

}  // namespace tenon::va
