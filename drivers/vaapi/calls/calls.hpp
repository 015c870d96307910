// SPDX-License-Identifier: Apache-2.0
// The driver's entry points, one file per kind of object; table.cpp puts them into libva's table. Every call checks its
// handles and arguments first, and returns the status that va.h names.
#pragma once

#include <exception>
#include <mutex>
#include <new>

#include <va/va.h>
#include <va/va_backend.h>
#include <va/va_backend_vpp.h>

#include <tenon/core/error.hpp>

#include <tenon/drivers/vaapi/objects/display.hpp>
#include <tenon/drivers/vaapi/objects/task.hpp>

namespace tenon::va {

/// A decoder, processor or encoder, and its current picture.
class Context final : public Object {
 public:
  static constexpr Kind kKind = Kind::kContext;
  Context(const Display& display, Ref<Config> config, std::unique_ptr<Task> task)
      : Object(display), config(std::move(config)), task(std::move(task)) {}
  const Ref<Config> config;
  const std::unique_ptr<Task> task;
  std::mutex mutex;
  Ref<Surface> target;  ///< Between vaBeginPicture and vaEndPicture.
};

namespace calls {

inline const Display& display_of(VADriverContextP context) {
  return *static_cast<const Display*>(context->pDriverData);
}

VAStatus status_of(const Error& error) noexcept;

/// Runs a call's body; an exception becomes a status.
template <class Body>
VAStatus guarded(Body body) noexcept try {
  return body();
} catch (const Error& error) {
  return status_of(error);
} catch (const std::bad_alloc&) {
  return VA_STATUS_ERROR_ALLOCATION_FAILED;
} catch (const std::exception&) {
  return VA_STATUS_ERROR_OPERATION_FAILED;
}

/// Each file fills its part of the table.
void fill_config_calls(VADriverVTable& table);
void fill_surface_calls(VADriverVTable& table);
void fill_buffer_calls(VADriverVTable& table);
void fill_image_calls(VADriverVTable& table);
void fill_picture_calls(VADriverVTable& table);
void fill_display_calls(VADriverVTable& table);
void fill_process_calls(VADriverVTableVPP& table);

/// Number of profiles for which libva allocates arrays.
int max_profiles();
inline constexpr int kMaxEntrypoints = 4, kMaxAttributes = 64;
int max_image_formats();

/// The RT formats of a profile and entry point; 0 if there is no such pair.
std::uint32_t rt_formats_of(VAProfile profile, VAEntrypoint entrypoint);

}  // namespace calls
}  // namespace tenon::va
