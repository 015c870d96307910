// SPDX-License-Identifier: Apache-2.0
// Tracks which values occupy which bytes, and which of them are still read.
#include <tenon/planning/buffer_liveness.hpp>

namespace tenon::inline v1::planning {

namespace {
bool overlap(std::size_t a, std::size_t a_bytes, std::size_t b, std::size_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}
}  // namespace

void BufferLiveness::add_buffer(bool is_foreign) {
  tenants_.emplace_back().is_foreign = is_foreign;
  group_.push_back(static_cast<BufferId>(group_.size()));
}

BufferId BufferLiveness::group(BufferId buffer) {
  while (group_[buffer] != buffer) buffer = group_[buffer] = group_[group_[buffer]];
  return buffer;
}

void BufferLiveness::count_reader(BufferId buffer, int change) {
  const auto by = static_cast<std::size_t>(change);  // Unsigned arithmetic wraps: -1 subtracts one.
  tenants_[buffer].read += by;
  tenants_[group(buffer)].group_read += by;
}

void BufferLiveness::add_extent(ValueId value, BufferSlice place, std::size_t size_bytes) {
  if (tenant_.size() <= value) tenant_.resize(value + 1);
  tenants_[place.buffer].values.push_back(value);
  if (tenant_[value].is_read) count_reader(place.buffer, 1);
  tenant_[value].extents.push_back({place, size_bytes});
}

void BufferLiveness::set_read(ValueId value, bool is_read) {
  if (tenant_.size() <= value) tenant_.resize(value + 1);
  Tenant& tenant = tenant_[value];
  if (tenant.is_read == is_read) return;
  tenant.is_read = is_read;
  for (const Extent& extent : tenant.extents) {
    count_reader(extent.place.buffer, is_read ? 1 : -1);
    if (is_read) tenants_[extent.place.buffer].values.push_back(value);
  }
}

bool BufferLiveness::is_still_read(BufferSlice place, std::size_t size_bytes) {
  Tenants& tenants = tenants_[place.buffer];
  if (tenants.read == 0) return false;
  // Checking more each time would cost the square of their number.
  constexpr std::size_t kMany = 64;
  if (tenants.read > kMany) return true;
  if (tenants.values.size() > kMany) std::erase_if(tenants.values, [&](ValueId id) { return !tenant_[id].is_read; });
  for (const ValueId id : tenants.values) {
    if (!tenant_[id].is_read) continue;
    for (const Extent& extent : tenant_[id].extents)
      if (extent.place.buffer == place.buffer &&
          overlap(extent.place.offset, extent.size_bytes, place.offset, size_bytes))
        return true;
  }
  return false;
}

BufferLiveness::Answer BufferLiveness::may_overwrite(const Read& over, const std::vector<Read>& others) {
  const BufferId buffer = over.place.buffer;
  const Tenants& first = tenants_[group(buffer)];
  // How buffers of a group will lie to each other is not known yet: any pending read of another one is a conflict.
  if (first.is_foreign || first.group_read > tenants_[buffer].read) return {};
  bool depends_on_extents = tenants_[buffer].read > 0;
  for (const Read& other : others) {
    if (!other.place || group(other.place.buffer) != group(buffer)) continue;
    if (other.place.buffer != buffer) return {};
    if (!overlap(other.place.offset, other.size_bytes, over.place.offset, over.size_bytes)) {
      depends_on_extents = true;
      continue;
    }
    if (!other.in_step || !(other.place == over.place) || other.size_bytes != over.size_bytes) return {};
  }
  if (is_still_read(over.place, over.size_bytes)) return {};
  return {true, depends_on_extents};
}

void BufferLiveness::may_share(BufferId a, BufferId b) {
  const BufferId from = group(a), to = group(b);
  if (from == to) return;
  group_[from] = to;
  tenants_[to].group_read += tenants_[from].group_read;
  tenants_[to].is_foreign |= tenants_[from].is_foreign;
}

}  // namespace tenon::inline v1::planning
