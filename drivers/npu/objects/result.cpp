// SPDX-License-Identifier: Apache-2.0
// Why a call failed, stored per thread.
#include <tenon/drivers/npu/objects/result.hpp>

namespace tenon::npu {

std::string& last_error() noexcept {
  thread_local std::string text;
  return text;
}

ze_result_t fail(ze_result_t result, std::string_view why) noexcept try {
  last_error().assign(why);
  return result;
} catch (...) {
  return result;
}

}  // namespace tenon::npu
