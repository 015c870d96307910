// SPDX-License-Identifier: Apache-2.0
// Video processing by the driver: crop, scale, turn, and other formats and colours. Converts: the ledger books it so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <tenon/core/context.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

/// Pixels of a picture; an empty one means all of it.
struct Rectangle {
  std::uint32_t x_px = 0, y_px = 0, width_px = 0, height_px = 0;
  bool empty() const { return width_px == 0 || height_px == 0; }
};

/// What is done to a picture on its way.
struct Processing {
  Rectangle crop;                         ///< The part of the source.
  Rectangle region;                       ///< The part of the result that the picture fills; the rest is `background`.
  std::uint32_t background = 0xff000000;  ///< 0xAARRGGBB.
  bool turns_upright = false;             ///< Turns the picture as its FrameInfo::rotation says.
  bool fast = false;                      ///< Cheaper scaling.
};

namespace detail {

class ProcessorState;
}

/// Makes pictures of one format and size of others, on the driver. Results are surfaces of a pool.
/// @thread any: one picture at a time.
class Processor {
 public:
  /// @param output  Format and size of the results; colour space and range too, where they are not unknown.
  /// @param limit   Results that may be in use at a time.
  /// @errors kInvalidArgument: no vaapi context; kUnimplemented: a driver without video processing; those of the driver.
  Processor(const Context& context, const FrameInfo& output, std::size_t limit = 16);

  const FrameInfo& output() const;

  /// A place for a Router: frames that are mapped there are processed as `how` says, by an edge that converts. It may be a
  /// target and a source, and no way leads through it. The edge refuses when this Processor is gone; its results stay.
  /// @param name  As explanations call it. @cost keeps a view with each result for each place; make one per use.
  Context place(const Processing& how = {}, std::string name = "vaapi.processed") const;

  /// Begins the work on `source`, a frame of this display, and gives the result, which is a picture of the context; a map of
  /// it waits for the work. Books the bytes of `source` as converted, under "vaapi->vaapi (processed)".
  /// @errors kInvalidArgument: a frame of another display or framework (map it to the context first); kOutOfRange: a
  /// rectangle outside its picture; kDeadlineExceeded: all results are in use; those of the driver.
  Frame run(const Frame& source, const Processing& how = {}, Deadline deadline = default_deadline(),
            Ledger* ledger = nullptr);

 private:
  std::shared_ptr<detail::ProcessorState> state_;
};

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
