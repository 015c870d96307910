// SPDX-License-Identifier: Apache-2.0
// The slots of all displays of this process. Ids are slot numbers from 1: clients take 0 for "none".
#include <tenon/drivers/vaapi/objects/object.hpp>

namespace tenon::va {
namespace {

using Slots = handles::SlotTable<Slot>;

Slots& slots() {
  static Slots& all = *new Slots(std::size_t{1} << 22, std::size_t{1} << 14);
  return all;
}

Slot* slot_of(VAGenericID id) noexcept { return slots().at(std::size_t{id} - 1); }

}  // namespace

bool attach_slot(Object* object, Kind kind) {
  Slot* slot = slots().take();
  if (!slot) return false;
  slot->object = object;
  object->slot_ = slot;
  slot->state.open(static_cast<std::uint8_t>(kind));
  return true;
}

void destroy_object(Slot* slot) noexcept {
  const Object* object = std::exchange(slot->object, nullptr);
  slot->state.close();
  delete object;  // Its destructor may release other references.
  slots().give_back(slot);
}

VAGenericID Object::id() const noexcept { return static_cast<VAGenericID>(slots().number(slot_) + 1); }

void Object::drop_reference() const noexcept {
  Slot* slot = slot_;
  if (slot->state.drop()) destroy_object(slot);
}

Object* acquire_object(const Display& display, VAGenericID id, Kind kind) noexcept {
  Slot* slot = slot_of(id);
  if (!slot || !slot->state.acquire(static_cast<std::uint8_t>(kind))) return nullptr;
  Object* object = slot->object;
  if (object->display() == &display) return object;
  object->drop_reference();
  return nullptr;
}

bool destroy_id(const Display& display, VAGenericID id, Kind kind) noexcept {
  const Ref<Object> object = Ref<Object>::adopt(acquire_object(display, id, kind));
  if (!object || !slot_of(id)->state.invalidate(static_cast<std::uint8_t>(kind))) return false;
  object->drop_reference();
  return true;
}

void destroy_ids_of(const Display& display) noexcept {
  const auto count = static_cast<VAGenericID>(slots().used());
  for (VAGenericID id = 1; id <= count; ++id) {
    for (const Kind kind : {Kind::kContext, Kind::kImage, Kind::kBuffer, Kind::kSurface, Kind::kConfig})
      destroy_id(display, id, kind);
  }
}

}  // namespace tenon::va
