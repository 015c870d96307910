// SPDX-License-Identifier: Apache-2.0
// In-place analysis: which bytes somebody still reads, and what may therefore be written over them. Knows buffers and
// places, no layouts and no kernel library.
#pragma once

#include <cstdint>
#include <vector>

#include <tenon/engine/plan/places.hpp>

namespace tenon::inline v1::engine {

using ValueId = std::uint32_t;

/// Bytes that a step reads.
struct Read {
  Place place;
  std::size_t size_bytes = 0;
  /// Element i of the result is made of element i of these and is written after they are read.
  bool in_step = false;
};

/// Follows, while nodes are lowered in order, who lies where and who is still read.
class Tenancy {
 public:
  /// Of the next buffer. @param is_foreign  Its memory is not the arena's: never written over.
  void add_buffer(bool is_foreign);
  /// The value lies there, in one more layout.
  void add_extent(ValueId value, Place place, std::size_t size_bytes);
  /// Something that is not lowered yet reads the value, or nothing does any more.
  void set_read(ValueId value, bool is_read);
  /// The bytes of both buffers will be the same memory (a join in place). How they will lie to each other is not known
  /// yet.
  void may_share(BufferId a, BufferId b);
  /// A step that reads `over`, and `others` while it writes, may write its result over it: the memory is the arena's,
  /// nothing that is still to be lowered reads a byte of it, and what the step itself reads there it reads element by
  /// element. @cost amortised constant.
  bool may_overwrite(const Read& over, const std::vector<Read>& others);
  /// Every extent of the value.
  std::vector<Read> extents(ValueId value) const;

 private:
  struct Extent {
    Place place;
    std::size_t size_bytes;
  };
  struct Tenant {
    std::vector<Extent> extents;
    bool is_read = false;
  };
  struct Tenants {
    std::vector<ValueId> values;  ///< All with an extent in the buffer that is still read, and some that is not.
    std::size_t read = 0;         ///< Extents in the buffer whose value has readers left.
    std::size_t group_read = 0;   ///< The same of all its group; of a group's first buffer.
    bool is_foreign = false;      ///< The group has memory that is not the arena's; of a group's first buffer.
  };
  void count_reader(BufferId buffer, int change);
  BufferId group(BufferId buffer);
  /// Where many values lie: of the buffer.
  bool is_still_read(Place place, std::size_t size_bytes);

  std::vector<Tenant> tenant_;    // of each value
  std::vector<Tenants> tenants_;  // of each buffer
  std::vector<BufferId> group_;   // union-find over buffers that may become one memory
};

}  // namespace tenon::inline v1::engine
