// SPDX-License-Identifier: Apache-2.0
// The operation of a context on a picture: decode, process, encode.
#pragma once

#include <va/va.h>

#include <tenon/drivers/vaapi/objects/display.hpp>

namespace tenon::va {

/// The calls between vaBeginPicture and vaEndPicture. @thread one at a time: the context locks.
class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;
  /// @param type  Type of a client's buffer.
  virtual bool takes(VABufferType type) const = 0;
  /// Begins a new picture and drops the state of an unfinished one.
  virtual void begin() = 0;
  virtual VAStatus render(Ref<Buffer> buffer) = 0;
  /// Does the work, or begins it; in the latter case the surface is busy (Surface::begin_work) when this returns.
  virtual VAStatus end(Surface& target) = 0;
};

}  // namespace tenon::va
