// SPDX-License-Identifier: Apache-2.0
// Reference-counted objects behind slots, shared by the drivers: the count is in the slot's word, and the last
// reference destroys the object. Each driver has its own slot, whose address or number is the handle:
//   struct Slot { SlotState state; Object<Slot>* object; Slot* next; static ObjectTable<Slot>& table() noexcept; };
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include <tenon/drivers/handles/slots.hpp>

namespace tenon::handles {

template <class Slot>
class ObjectTable;

/// The object lives as long as its handle or a Ref to it. @thread all members from any thread.
template <class Slot>
class Object {
 public:
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  void add_reference() const noexcept { slot_->state.add(); }
  void drop_reference() const noexcept {
    if (Slot* slot = slot_; slot->state.drop()) Slot::table().destroy(slot);
  }

 protected:
  Object() = default;
  virtual ~Object() = default;
  Slot* slot() const noexcept { return slot_; }

 private:
  friend class ObjectTable<Slot>;
  Slot* slot_ = nullptr;
};

/// Owns one reference to an object.
template <class T>
class Ref {
 public:
  Ref() = default;
  /// One more reference to an object that is held already.
  explicit Ref(T& object) noexcept : object_(&object) { object.add_reference(); }
  /// Takes ownership of a reference that is already counted.
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
  void reset() noexcept { *this = Ref(); }

 private:
  T* object_ = nullptr;
};

/// A T that is never destroyed, since clients call from their own destructors, and that needs no memory from the heap.
template <class T>
class Immortal {
 public:
  template <class... Arguments>
  explicit Immortal(Arguments&&... arguments) noexcept(noexcept(T(std::forward<Arguments>(arguments)...)))
      : object_(new (place_) T(std::forward<Arguments>(arguments)...)) {}
  T& operator*() const noexcept { return *object_; }

 private:
  alignas(T) std::byte place_[sizeof(T)];
  T* const object_;
};

/// A driver's slots with the objects behind them. Never destroy one: clients call from their own destructors.
/// @thread all members from any thread.
template <class Slot>
class ObjectTable : public SlotTable<Slot> {
 public:
  using SlotTable<Slot>::SlotTable;

  /// Puts an object behind a free slot and makes the handle valid.
  /// @param references  1: only that of the handle; 2: one more for the caller, which no other thread can release.
  /// @return false: no slot is left.
  bool attach(Object<Slot>& object, std::uint8_t kind, std::uint32_t references) {
    Slot* slot = this->take();
    if (!slot) return false;
    slot->object = &object;
    object.slot_ = slot;
    live_.fetch_add(1, std::memory_order_relaxed);
    slot->state.open(kind, references);
    return true;
  }
  /// The object behind a slot, with one more reference. Null if `slot` is null or if its handle is invalid or of
  /// another kind.
  Object<Slot>* acquire(Slot* slot, std::uint8_t kind) noexcept {
    return slot && slot->state.acquire(kind) ? slot->object : nullptr;
  }
  /// Makes the handle invalid; the object lives until its last reference is released. False if the handle was not
  /// valid.
  bool invalidate(Slot* slot, std::uint8_t kind) noexcept {
    if (!slot || !slot->state.invalidate(kind)) return false;
    live_.fetch_sub(1, std::memory_order_relaxed);
    slot->object->drop_reference();
    return true;
  }
  /// Number of valid handles; for leak tests.
  std::size_t live() const noexcept { return live_.load(std::memory_order_relaxed); }

 private:
  friend class Object<Slot>;
  void destroy(Slot* slot) noexcept {
    const Object<Slot>* object = std::exchange(slot->object, nullptr);
    slot->state.close();
    delete object;  // Its destructor may release other references.
    this->give_back(slot);
  }

  std::atomic<std::size_t> live_{0};
};

/// Creates a T, which has `static constexpr kKind`, an enumerator of std::uint8_t. @param references  As attach().
/// @return null: no slot is left. @errors std::bad_alloc; T's own.
template <class T, class Slot, class... Arguments>
T* make(ObjectTable<Slot>& table, std::uint32_t references, Arguments&&... arguments) {
  auto object = std::make_unique<T>(std::forward<Arguments>(arguments)...);
  const bool attached = table.attach(*object, static_cast<std::uint8_t>(T::kKind), references);
  return attached ? object.release() : nullptr;
}

}  // namespace tenon::handles
