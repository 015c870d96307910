// SPDX-License-Identifier: Apache-2.0
// What a process holds, to the byte where the system says so.
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>

#include <tenon/core/deferred.hpp>
#include <tenon/core/policy.hpp>

namespace tenon::media_soak {

struct Held {
  std::size_t resident = 0;  ///< Bytes, after what allocators can give back.
  std::size_t heap = 0;      ///< Bytes in use of malloc's.
  std::size_t descriptors = 0;
  std::size_t threads = 0;
  std::size_t mappings = 0;  ///< Those of dma-bufs and memfds: living surfaces and pictures of pools.
};

inline std::ostream& operator<<(std::ostream& out, const Held& held) {
  return out << held.resident / 1024 << " KiB resident, " << held.heap / 1024 << " KiB of heap, " << held.descriptors
             << " descriptors, " << held.threads << " threads, " << held.mappings << " mapped pictures";
}

inline std::size_t entries(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

inline Held held() {
  drain_deferred(default_deadline());
  ::malloc_trim(0);
  Held now;
  const auto info = ::mallinfo2();
  now.heap = info.uordblks + info.hblkhd;
  now.descriptors = entries("/proc/self/fd");
  now.threads = entries("/proc/self/task");
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    now.mappings += line.find("/dmabuf:") != std::string::npos || line.find("/memfd:tenon") != std::string::npos;
  std::size_t all = 0;
  std::ifstream("/proc/self/statm") >> all >> now.resident;
  now.resident *= static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return now;
}

/// The most of each.
inline Held most(const Held& a, const Held& b) {
  return {std::max(a.resident, b.resident), std::max(a.heap, b.heap), std::max(a.descriptors, b.descriptors),
          std::max(a.threads, b.threads), std::max(a.mappings, b.mappings)};
}

}  // namespace tenon::media_soak
