// SPDX-License-Identifier: Apache-2.0
// Address ranges without memory.
#include <tenon/engine/plan/stand_in.hpp>

#include <tenon/core/adopt_bytes.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/page_bytes.hpp>
#include <tenon/core/platform/mappings.hpp>

namespace tenon::inline v1::engine {

Tensor make_stand_in(ElementType type, const Shape& shape) {
  const auto wanted = checked_size_bytes(type, shape);
  if (!wanted || *wanted == 0)
    throw Error(Code::kInvalidArgument, "CPU: a constant of " + to_string(shape) + " has no size");
  const std::size_t size = (*wanted + page_bytes() - 1) / page_bytes() * page_bytes();
  void* address = nullptr;
  if (const auto failure = platform::map_zeros(size, address))
    throw Error(Code::kResourceExhausted, "CPU: no address range of " + std::to_string(size) + " bytes", failure.call,
                failure.error);
  auto memory = adopt_bytes(address, size, true, [address, size] { platform::unmap_zeros(address, size); });
  return Tensor(TensorInfo{type, shape, {}}, std::move(memory));
}

bool was_touched(const Tensor& stand_in) { return platform::were_touched(stand_in.data(), stand_in.size_bytes()); }

}  // namespace tenon::inline v1::engine
