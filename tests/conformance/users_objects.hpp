// SPDX-License-Identifier: Apache-2.0
// Objects that stand for those of a program, which Tenon's memory lies over.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <tenon/core/deferred.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>

namespace tenon::conformance {

/// A program's objects, which it destroys when nothing of Tenon's lies over them any more. They are not counted as Tenon's.
/// Make it with new: at exit the driver may be gone.
/// @param Probe  The framework's, which counts handles.
template <typename Probe, typename Object>
class UsersObjects {
 public:
  /// @param memory  Lies over `object`.  @param handles  That `object` was counted as.
  void keep(Object object, std::size_t handles, Ref<Memory> memory) {
    all_.push_back({std::move(object), handles, std::move(memory)});
    Probe::handles.fetch_sub(handles);
  }
  void drop_idle() {
    std::vector<Kept> idle;
    std::erase_if(all_, [&](Kept& each) {
      if (each.memory->ref_count() > 1) return false;
      idle.push_back(std::move(each));
      return true;
    });
    for (Kept& each : idle) each.memory = {};
    drain_deferred(default_deadline());  // What still runs on the memory.
    for (const Kept& each : idle) Probe::handles.fetch_add(each.handles);
  }

 private:
  struct Kept {
    Object object;
    std::size_t handles = 0;
    Ref<Memory> memory;
  };
  std::vector<Kept> all_;
};

}  // namespace tenon::conformance
