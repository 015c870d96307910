// SPDX-License-Identifier: Apache-2.0
// Counts views as they are made, so that the ledger knows which maps found an existing view.
#pragma once

#include <cstdint>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// How many views this thread has made. Edges run in the thread of their map: if the count does not change during a
/// map, the map found an existing view. @cost a load.
TENON_API std::uint64_t views_made() noexcept;
/// Counts one more. Memory::add_view() calls it; so do frameworks that keep views themselves.
TENON_API void note_view_made() noexcept;

}  // namespace v1
}  // namespace tenon
