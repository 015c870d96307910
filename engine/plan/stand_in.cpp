// SPDX-License-Identifier: Apache-2.0
// Address ranges without memory.
#include <tenon/engine/plan/stand_in.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include <tenon/core/adopt_bytes.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/page_bytes.hpp>

namespace tenon::inline v1::engine {

Tensor make_stand_in(ElementType type, const Shape& shape) {
  const auto wanted = checked_size_bytes(type, shape);
  if (!wanted || *wanted == 0)
    throw Error(Code::kInvalidArgument, "CPU: a constant of " + to_string(shape) + " has no size");
  const std::size_t size = (*wanted + page_bytes() - 1) / page_bytes() * page_bytes();
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    throw Error(Code::kResourceExhausted, "CPU: no address range of " + std::to_string(size) + " bytes");
  // With huge pages, one read would look like a read of all neighbours.
  ::madvise(address, size, MADV_NOHUGEPAGE);
  auto memory = adopt_bytes(address, size, true, [address, size] { ::munmap(address, size); });
  return Tensor(TensorInfo{type, shape, {}}, std::move(memory));
}

bool was_touched(const Tensor& stand_in) {
  const std::size_t pages = (stand_in.size_bytes() + page_bytes() - 1) / page_bytes();
  std::vector<unsigned char> resident(pages, 1);
  if (::mincore(stand_in.data(), pages * page_bytes(), resident.data()) != 0) return true;
  return std::any_of(resident.begin(), resident.end(), [](unsigned char page) { return page & 1; });
}

}  // namespace tenon::inline v1::engine
