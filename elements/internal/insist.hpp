// SPDX-License-Identifier: Apache-2.0
// What must be done although memory is short for a moment: the end of a stream, which others wait for.
#pragma once

#include <chrono>
#include <new>
#include <thread>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace detail {

/// Runs `body`, again each millisecond where memory is short, for a second. @pre it changes nothing where it fails.
/// @errors std::bad_alloc: memory is short for longer.
template <typename Body>
void insist(const Body& body) {
  for (int tries = 1;; ++tries) {
    try {
      return body();
    } catch (const std::bad_alloc&) {
      if (tries == 1000) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace detail
}  // namespace elements
}  // namespace v1
}  // namespace tenon
