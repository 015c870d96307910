// SPDX-License-Identifier: Apache-2.0
// The slots of all displays of this process. Ids are slot numbers from 1: clients use 0 as "none".
#include <tenon/drivers/vaapi/objects/object.hpp>

#include <cstddef>

namespace tenon::va {
namespace {

Slot* slot_of(VAGenericID id) noexcept { return Slot::table().at(std::size_t{id} - 1); }

}  // namespace

handles::ObjectTable<Slot>& Slot::table() noexcept {
  static const handles::Immortal<handles::ObjectTable<Slot>> all(std::size_t{1} << 22, std::size_t{1} << 14);
  return *all;
}

VAGenericID Object::id() const noexcept { return static_cast<VAGenericID>(Slot::table().number(slot()) + 1); }

Object* acquire_object(const Display& display, VAGenericID id, Kind kind) noexcept {
  auto* object = static_cast<Object*>(Slot::table().acquire(slot_of(id), static_cast<std::uint8_t>(kind)));
  if (!object || object->display() == &display) return object;
  object->drop_reference();
  return nullptr;
}

bool destroy_id(const Display& display, VAGenericID id, Kind kind) noexcept {
  const Ref<Object> object = Ref<Object>::adopt(acquire_object(display, id, kind));
  return object && Slot::table().invalidate(slot_of(id), static_cast<std::uint8_t>(kind));
}

void destroy_ids_of(const Display& display) noexcept {
  const auto count = static_cast<VAGenericID>(Slot::table().used());
  for (VAGenericID id = 1; id <= count; ++id) {
    for (const Kind kind : {Kind::kContext, Kind::kImage, Kind::kBuffer, Kind::kSurface, Kind::kConfig})
      destroy_id(display, id, kind);
  }
}

}  // namespace tenon::va
