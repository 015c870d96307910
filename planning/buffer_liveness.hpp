// SPDX-License-Identifier: Apache-2.0
// In-place analysis: which bytes are still read, and what may therefore be written over them. Knows buffers and
// places, but no layouts and no kernel library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/planning/buffer_slices.hpp>

namespace tenon::inline v1::planning {

using ValueId = std::uint32_t;

/// Bytes that a step reads.
struct Read {
  BufferSlice place;
  std::size_t size_bytes = 0;
  /// Element i of the result depends only on element i of these and is written after they are read.
  bool in_step = false;
};

/// Tracks, while nodes are lowered in order, where values lie and which are still read.
class BufferLiveness {
 public:
  /// Adds the next buffer. @param is_foreign  Its memory is not the arena's: never written over.
  void add_buffer(bool is_foreign);
  /// The value also lies there, in one more layout.
  void add_extent(ValueId value, BufferSlice place, std::size_t size_bytes);
  /// Whether any node that is not lowered yet reads the value.
  void set_read(ValueId value, bool is_read);
  /// The bytes of both buffers will be the same memory (a join in place). How they will lie to each other is not known
  /// yet.
  void may_share(BufferId a, BufferId b);
  struct Answer {
    bool allowed = false;
    /// Allowed only because of where some values in that buffer begin and end.
    bool depends_on_extents = false;
  };
  /// Whether a step that reads `over`, and `others` while it writes, may write its result over it: the memory is the
  /// arena's, no step still to be lowered reads a byte of it, and the step itself reads it element by
  /// element. @cost amortised constant.
  Answer may_overwrite(const Read& over, const std::vector<Read>& others);

 private:
  struct Extent {
    BufferSlice place;
    std::size_t size_bytes;
  };
  struct Tenant {
    std::vector<Extent> extents;
    bool is_read = false;
  };
  struct Tenants {
    std::vector<ValueId> values;  ///< All with an extent in the buffer that is still read, and some others.
    std::size_t read = 0;         ///< Extents in the buffer whose value has readers left.
    std::size_t group_read = 0;   ///< The same for its whole group; valid in a group's first buffer.
    bool is_foreign = false;      ///< The group has memory that is not the arena's; valid in a group's first buffer.
  };
  void count_reader(BufferId buffer, int change);
  BufferId group(BufferId buffer);
  /// For buffers with many values: considers the buffer as a whole.
  bool is_still_read(BufferSlice place, std::size_t size_bytes);

  std::vector<Tenant> tenant_;    // of each value
  std::vector<Tenants> tenants_;  // of each buffer
  std::vector<BufferId> group_;   // union-find over buffers that may become one memory
};

}  // namespace tenon::inline v1::planning
