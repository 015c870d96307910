// SPDX-License-Identifier: Apache-2.0
// Lists of finished detections, and boxes beside priors.
#include <cstddef>
#include <vector>

#include <tenon/vision/internal/families.hpp>
#include <tenon/vision/internal/row_decoder.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

bool fits_ssd(const DecodeOptions&, const Shape& shape) {
  return shape.size() == 4 && shape[0] == 1 && shape[1] == 1 && shape[3] == 7;
}

void decode_ssd(const DecodeOptions& options, const Shape& shape, const float* values, RowScratch& scratch) {
  const auto w = static_cast<float>(options.input_width), h = static_cast<float>(options.input_height);
  for (std::size_t i = 0; i < shape[2]; ++i) {
    const float* row = values + i * 7;
    if (row[0] < 0) break;
    if (!(row[2] >= options.confidence_threshold) || !(row[1] >= 0 && row[1] < 1e6f)) continue;
    add(scratch, {row[3] * w, row[4] * h, row[5] * w, row[6] * h}, row[2], static_cast<std::size_t>(row[1]), i);
  }
}

}  // namespace

std::vector<DecoderType> ssd_types() {
  return {row_type("SSD", {"detection_output"}, "[1,1,n,7]", {fits_ssd, decode_ssd, true, false, true})};
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
