// SPDX-License-Identifier: Apache-2.0
#include <tenon/drivers/vaapi/process/filters.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include <tenon/drivers/vaapi/objects/enumeration.hpp>
#include <tenon/drivers/vaapi/process/deinterlace.hpp>

namespace tenon::va {
namespace {

constexpr std::uint32_t kFlags = VA_DEINTERLACING_BOTTOM_FIELD_FIRST | VA_DEINTERLACING_BOTTOM_FIELD |
                                 VA_DEINTERLACING_ONE_FIELD | VA_DEINTERLACING_SCD_ENABLE;

VAStatus read_filter(Buffer& buffer, std::optional<Deinterlacing>& found) {
  const auto bytes = buffer.used();
  VAProcFilterParameterBufferDeinterlacing given;
  if (buffer.type != VAProcFilterParameterBufferType || bytes.size() < sizeof(VAProcFilterParameterBufferBase))
    return VA_STATUS_ERROR_INVALID_BUFFER;
  std::memcpy(&given, bytes.data(), std::min(bytes.size(), sizeof given));
  if (number_of(given.type) != VAProcFilterDeinterlacing) return VA_STATUS_ERROR_UNSUPPORTED_FILTER;
  if (bytes.size() < sizeof given) return VA_STATUS_ERROR_INVALID_BUFFER;
  const Deinterlacing wanted{number_of(given.algorithm), given.flags};
  const bool known =
      wanted.algorithm == VAProcDeinterlacingNone ||
      std::find(std::begin(kDeinterlacing), std::end(kDeinterlacing), wanted.algorithm) != std::end(kDeinterlacing);
  if (!known || (wanted.flags & ~kFlags)) return VA_STATUS_ERROR_UNSUPPORTED_FILTER;
  if (wanted.algorithm != VAProcDeinterlacingNone) found = wanted;
  return VA_STATUS_SUCCESS;
}

}  // namespace

VAStatus read_filters(const Display& display, const VABufferID* filters, std::uint32_t count,
                      std::optional<Deinterlacing>& found) {
  found.reset();
  if (count > 0 && !filters) return VA_STATUS_ERROR_INVALID_PARAMETER;
  if (count > 1) return VA_STATUS_ERROR_INVALID_FILTER_CHAIN;
  if (count == 0) return VA_STATUS_SUCCESS;
  const Ref<Buffer> buffer = acquire<Buffer>(display, filters[0]);
  return buffer ? read_filter(*buffer, found) : VA_STATUS_ERROR_INVALID_BUFFER;
}

}  // namespace tenon::va
