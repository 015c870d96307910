// SPDX-License-Identifier: Apache-2.0
// The memory that this process holds, and the file mapped at an address.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include <unistd.h>

namespace tenon {

/// Bytes of this process in physical memory.
inline std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Path of the file that is mapped at `address`; empty for anonymous memory.
inline std::string mapped_file_at(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::string range, access, offset, device, inode, path;
    fields >> range >> access >> offset >> device >> inode >> path;
    const auto dash = range.find('-');
    const auto begin = std::stoull(range.substr(0, dash), nullptr, 16),
               end = std::stoull(range.substr(dash + 1), nullptr, 16);
    if (wanted >= begin && wanted < end) return path;
  }
  return {};
}

}  // namespace tenon
