// SPDX-License-Identifier: Apache-2.0
// In which ze_context an event was made.
#pragma once

#include <cstdint>

#include <tenon/frameworks/level_zero/native.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

/// Asks by calls of API 1.9: those of the loader or, where that is older, of the driver if it offers them by name.
/// @thread all members from any thread once constructed.
class EventOrigin {
 public:
  enum class Answer : std::uint8_t { kUnknown, kHere, kElsewhere };

  EventOrigin() = default;
  explicit EventOrigin(ze_driver_handle_t driver);

  /// Whether `event` was made in `context`. An event that the driver does not know is elsewhere.
  Answer ask(ze_event_handle_t event, ze_context_handle_t context) const;

 private:
  template <typename Function>
  static Function of_driver(ze_driver_handle_t driver, const char* name) {
    void* found = nullptr;
    const ze_result_t result = zeDriverGetExtensionFunctionAddress(driver, name, &found);
    return result == ZE_RESULT_SUCCESS ? reinterpret_cast<Function>(found) : nullptr;
  }

  abi::EventGetEventPool get_pool_ = nullptr;
  abi::EventPoolGetContextHandle get_context_ = nullptr;
  bool by_driver_ = false;  ///< The driver's own calls take the driver's own handles.
};

}  // namespace detail
}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
