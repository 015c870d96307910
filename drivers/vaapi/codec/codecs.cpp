// SPDX-License-Identifier: Apache-2.0
// Reads the number of threads once.
#include <tenon/drivers/vaapi/codec/codecs.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace tenon::va {

int codec_threads() {
  static const int count = [] {
    const int machine = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 4);
    const char* text = std::getenv("TENON_VA_THREADS");
    int wanted = 0;
    if (!text || std::from_chars(text, text + std::strlen(text), wanted).ec != std::errc()) return machine;
    return std::clamp(wanted, 1, 64);
  }();
  return count;
}

}  // namespace tenon::va
