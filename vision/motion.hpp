// SPDX-License-Identifier: Apache-2.0
// Finds what moves in the pictures of a camera that stands still.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/vision/detection.hpp>
#include <tenon/vision/small_luma.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

struct MotionOptions {
  /// Maximum width of the small picture of luma that is compared.
  std::uint32_t width_px = 320;
  /// Side of a square block, in pixels of the picture itself.
  std::uint32_t block_px = 32;
  /// The share of a block's pixels that must have changed, 0..1.
  float block_share = 0.05f;
  /// By how many levels (of 255) a pixel must differ from the background to have changed.
  float pixel_difference = 15;
  /// How much of a new picture goes into the background, 0..1; 1: the background is the picture before.
  float learning = 0.05f;
  /// Consecutive pictures in which a block must have changed.
  std::uint32_t confirm_pictures = 1;
  /// Pictures in which a region must have been found before it is given.
  std::uint32_t min_persistence = 2;
  /// Pictures for which a region is still given after it was found last.
  std::uint32_t max_missing = 1;
  /// The minimum overlap (IoU) of a region with the same one in the picture before.
  float iou_threshold = 0.3f;
  /// How much of a region's new box goes into the box that is given, 0..1.
  float smoothing = 0.5f;
  /// The minimum share of the picture's area that a region covers, 0..1.
  float min_area = 0.0005f;
};

/// Compares a small picture of luma with the background, which is the running mean of earlier ones, and joins blocks in which
/// pixels have changed to regions. A region of which nothing differs from the picture before does not move: something stands still
/// there, or has gone. Where something moves, the background learns at a sixteenth of the rate, so that it leaves no trail.
/// @source The running mean: R. Cucchiara et al., Detecting Moving Objects, Ghosts, and Shadows in Video Streams (2003),
/// selective update. Blocks, persistence and smoothing: the parameters of DL Streamer's gvamotiondetect.
/// @thread one at a time. @cost one pass over the luma plane, which is all that is read; allocates nothing while pictures
/// have the same size.
class TENON_API MotionDetector {
 public:
  /// The most regions in one picture: the largest ones.
  static constexpr std::size_t kMostRegions = 64;

  /// @errors kInvalidArgument: a share outside 0..1, a width or block of 0 pixels.
  explicit MotionDetector(const MotionOptions& options = {});
  /// The regions that move, in pixels of the upright picture, the largest first; valid until the next call. A picture of
  /// another size or format is a new beginning: there is nothing to compare it with.
  /// @param frame  In host memory. @errors as frame_layout()
  std::span<const Box> update(const Frame& frame);
  /// Forgets the background and all regions.
  void reset() { luma_.reset(); }

 private:
  /// Corners in pixels of the small picture; x2 and y2 lie outside.
  struct Cells {
    std::uint32_t x1 = 0, y1 = 0, x2 = 0, y2 = 0;
    void join(const Cells& other);
    bool meets(const Cells& other) const;
    std::uint64_t area() const { return std::uint64_t{x2 - x1} * (y2 - y1); }
  };
  /// Pixels of a region.
  struct Count {
    std::uint32_t changed = 0, moved = 0;
  };
  struct Region {
    Box box;  ///< In pixels of the stored picture.
    std::uint32_t found = 0, missing = 0;
    bool is_taken = false;
  };

  void begin();
  void compare();
  void learn();
  void judge_blocks();
  void join_blocks();
  void add_block(std::uint32_t block, Cells& box, Count& count) const;
  void follow(const FrameInfo& info);

  const MotionOptions options_;
  SmallLuma luma_;
  std::uint32_t width_ = 0, height_ = 0;                         ///< The size of the small picture.
  std::uint32_t block_ = 1, blocks_wide_ = 0, blocks_high_ = 0;  ///< A block's side in pixels of the small picture.
  std::uint64_t pictures_ = 0;
  std::vector<float> background_, before_;
  std::vector<std::uint8_t> has_changed_,
      has_moved_;                       ///< By pixel of the small picture: from the background, from before.
  std::vector<std::uint32_t> streaks_;  ///< By block: for how many pictures it has changed.
  std::vector<std::uint8_t> is_open_;   ///< By block: it moves, and belongs to no region yet.
  std::vector<std::uint8_t> moves_;     ///< By block: it belongs to a region that moves.
  std::vector<std::uint32_t> region_;   ///< The blocks of a region.
  std::vector<Cells> found_;
  std::vector<Region> regions_;
  std::vector<Box> given_;
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
