// SPDX-License-Identifier: Apache-2.0
// What a context does with a picture: decode, process, encode.
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
  /// @param type  What the client wants a buffer for.
  virtual bool takes(VABufferType type) const = 0;
  /// A new picture; forgets what an unfinished one left.
  virtual void begin() = 0;
  virtual VAStatus render(Ref<Buffer> buffer) = 0;
  /// Does the work, or begins it: then the surface is busy (Surface::begin_work) when this returns.
  virtual VAStatus end(Surface& target) = 0;
};

}  // namespace tenon::va
