// SPDX-License-Identifier: Apache-2.0
// Any text as ground truth. It is read, or refused with an Error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/vision/ground_truth.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    tenon::vision::parse_ground_truth({reinterpret_cast<const char*>(data), size});
  } catch (const tenon::Error&) {
  }
  return 0;
}
