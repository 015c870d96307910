// SPDX-License-Identifier: Apache-2.0
// The hash of keys that are sequences of words, for look-ups within the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::inline v1::planning {

struct WordsHash {
  std::size_t operator()(const std::vector<std::uint64_t>& words) const {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const std::uint64_t word : words) hash = (hash ^ word) * 0x100000001b3u + (hash >> 29);
    return static_cast<std::size_t>(hash);
  }
};

}  // namespace tenon::inline v1::planning
