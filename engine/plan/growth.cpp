// SPDX-License-Identifier: Apache-2.0
// How much room caches get.
#include <tenon/engine/plan/growth.hpp>

namespace tenon::inline v1::engine {

std::size_t room_for(std::size_t extent) {
  std::size_t room = 64;
  while (room < extent) room += room / 2;
  return room;
}

}  // namespace tenon::inline v1::engine
